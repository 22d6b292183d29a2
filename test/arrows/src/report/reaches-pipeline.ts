import '../pipeline.js'
