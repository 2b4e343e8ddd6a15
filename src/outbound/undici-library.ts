/**
 * The parts of undici that are used here. Its entry also loads `fetch`, web sockets, caches and doubles for
 * tests: 85 modules that nothing here uses, and that the first read would wait for.
 */
import { createRequire } from 'node:module'
import type * as Library from 'undici'

const require = createRequire(import.meta.url)
const LibraryAgent: typeof Library.Agent = require('undici/lib/dispatcher/agent.js')
const LibraryPool: typeof Library.Pool = require('undici/lib/dispatcher/pool.js')
/** The method that the entry gives to all dispatchers. */
const request: Library.Dispatcher['request'] = require('undici/lib/api/api-request.js')

export const buildConnector: typeof Library.buildConnector = require('undici/lib/core/connect.js')

/** With `request`. */
export class Agent extends LibraryAgent {
  override readonly request = request
}

/** With `request`. */
export class Pool extends LibraryPool {
  override readonly request = request
}
