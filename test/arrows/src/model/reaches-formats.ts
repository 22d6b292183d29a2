import '../formats/reaches-bundle.js'
