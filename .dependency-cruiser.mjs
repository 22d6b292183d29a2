/**
 * The arrows of the pipeline: bundle → formats, capture → ingest → store → correlate → rules → report. A folder imports
 * from those left of it, from model/ and from limits.ts. `npm run check` runs this, and runs it on test/arrows/ too,
 * where each rule below must be broken once: a rule that catches nothing there is a rule that catches nothing here.
 */

/** A rule that files under `from` reach no other file of src than those under `allowed`. */
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: allowed },
})

const MODEL = '^src/(model/|limits\\.ts$)'
const FOLDERS = ['bundle', 'formats', 'capture', 'ingest', 'store', 'correlate', 'rules', 'report']
const these = (...folders) => [MODEL, ...folders.map(f => `^src/${f}/`)]
const upTo = folder => these(...FOLDERS.slice(0, FOLDERS.indexOf(folder) + 1))

const forbidden = [
  only('model-is-the-ground', MODEL, [MODEL], 'Every folder rests on the model and the limits: these rest on nothing, or every change would reach everything.'),
  only('bundle-knows-no-format', '^src/bundle/', upTo('bundle'), 'A bundle gives members as bytes. What the bytes mean is decided right of it.'),
  only(
    'a-parser-sees-bytes',
    '^src/formats/(?!pcap(ng)?/)',
    these('formats'),
    'A parser turns the bytes it is given into columns. It opens nothing, and works the same on a file, an archive member and a test string.',
  ),
  only(
    'captures-are-formats-too',
    '^src/formats/pcap(ng)?/',
    these('formats', 'capture'),
    'The two capture formats are what capture/ is for: they, and no other format, stand on its decoders.',
  ),
  only(
    'a-decoder-sees-bytes',
    '^src/capture/',
    these('formats', 'capture'),
    'A capture decoder is held to what holds for a parser, and meets the same contract, which formats/ declares.',
  ),
  only('ingest-stores-nothing', '^src/ingest/', upTo('ingest'), 'Ingest hands out batches of columns. Where they end up is not its business: workers run it without a database.'),
  only('store-judges-nothing', '^src/store/', upTo('store'), 'The store keeps and answers. What a row means for an incident is said by correlate and the rules.'),
  only('correlate-judges-nothing', '^src/correlate/', upTo('correlate'), 'Joins are facts that all rules share: a join that knew a rule would be biased to it.'),
  only('rules-render-nothing', '^src/rules/', upTo('rules'), 'A rule answers with data. How it is shown is decided once, in report/.'),
  only(
    'report-is-the-end',
    '^src/report/[^/]+$',
    [...upTo('report'), '^src/version\\.ts$'],
    'Building the report object reads what stands left of it, and says which version made it. The library at the root of src wires, and is not wired in.',
  ),
  only(
    'a-rendering-adds-nothing',
    '^src/report/(render|escape)/',
    [MODEL, '^src/report/(render|escape)/'],
    'Every rendering shows the one report object: one that could ask the store, or build, would say things that the JSON does not.',
  ),
  {
    name: 'nothing-imports-the-command-line',
    comment: 'The command line is one user of the library. What others need of it belongs further left.',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/cli/' },
    to: { path: '^src/cli/' },
  },
  {
    name: 'files-are-opened-in-two-places',
    comment: 'Evidence is hostile: only bundle/ and cli/ can touch the file system, so only they must be read to know that nothing is written where it should not be.',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/(bundle|cli)/' },
    to: { path: '^(node:)?fs(/promises)?$', dependencyTypes: ['core'] },
  },
  {
    name: 'surroundings-are-read-in-one-place',
    comment:
      'The same bytes give the same report on every machine: zone, environment and clock come in as options from cli/. The globals (process, Date.now, …) are looked for by scripts/lib/surroundings.mjs.',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/cli/' },
    to: { path: '^(node:)?(console|os|perf_hooks|process|readline|readline/promises|repl|tty)$', dependencyTypes: ['core'] },
  },
  {
    name: 'no-network-no-programs',
    comment: 'Opening a bundle uses no network and starts no program (SECURITY.md). No file can, so none does.',
    severity: 'error',
    from: { path: '^src/' },
    to: { path: '^(node:)?(child_process|cluster|dgram|dns|dns/promises|http|http2|https|inspector|net|tls|vm|wasi)$', dependencyTypes: ['core'] },
  },
  {
    name: 'only-the-store-knows-duckdb',
    comment: 'The store locks the database before evidence or user SQL reaches it. A second way in would be an unlocked one.',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/store/' },
    to: { path: '(^|/)@duckdb/' },
  },
  {
    name: 'no-development-dependency',
    comment: 'What is installed for working on wirecase is not there where wirecase is installed.',
    severity: 'error',
    from: { path: '^src/', pathNot: '\\.test\\.ts$' },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
  },
]

export default {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.test\\.ts$' },
    // Types count: a folder that names another's types depends on it.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
