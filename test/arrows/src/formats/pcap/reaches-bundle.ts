import '../../bundle/reaches-formats.js'
