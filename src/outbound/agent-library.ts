/** The parts of undici that are used here, without what its entry loads (`src/providers/pool-library.ts`). */
import { createRequire } from 'node:module'
import type * as Library from 'undici'

const require = createRequire(import.meta.url)
const LibraryAgent: typeof Library.Agent = require('undici/lib/dispatcher/agent.js')
const request: Library.Dispatcher['request'] = require('undici/lib/api/api-request.js')

export const buildConnector: typeof Library.buildConnector = require('undici/lib/core/connect.js')

/** With the method that the entry gives to all dispatchers. */
export class Agent extends LibraryAgent {
  override readonly request = request
}
