import '../store/reaches-rules.js'
