/**
 * The parts of undici that are used here. Its entry also loads `fetch`, web sockets, caches and doubles for
 * tests: 85 modules that nothing here uses, and that the first read would wait for.
 */
import { createRequire } from 'node:module'
import type * as Library from 'undici'

const require = createRequire(import.meta.url)
const LibraryPool: typeof Library.Pool = require('undici/lib/dispatcher/pool.js')
const request: Library.Dispatcher['request'] = require('undici/lib/api/api-request.js')

/** With the method that the entry gives to all dispatchers. */
export class Pool extends LibraryPool {
  override readonly request = request
}
