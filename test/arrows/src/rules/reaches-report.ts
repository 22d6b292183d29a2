import '../report/reaches-pipeline.js'

export type Rule = string
