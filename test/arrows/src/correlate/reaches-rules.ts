import '../rules/reaches-report.js'
