import { SCHEMA_VERSION } from '../store/schema.js'
import { Store, StoreError } from '../store/store.js'
import { privateFolder } from './private-folder.js'

/** Opens a case file for reading. Throws `StoreError` for a file that is none. */
export async function openCase(file: string): Promise<Store> {
  const store = await Store.open({ file, spillFolder: privateFolder(), readOnly: true })
  if ((await store.meta('schema')) === String(SCHEMA_VERSION)) return store
  store.close()
  throw new StoreError(`${file} is not a case file of this version of wirecase`, 'analyze the bundle again into a new file')
}
