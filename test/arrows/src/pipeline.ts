import './cli/reaches-all.js'
