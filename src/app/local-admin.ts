/**
 * The admin API and the reads without a listener, for a command that works while no service runs: the same
 * door with the same actions on the same store, which it holds until it is closed. No background work, and no
 * port is bound.
 */

import assert from 'node:assert/strict'
import { type Caller, toCaller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import { operations } from '#contract/operations.ts'
import { toOrigins } from '#src/config.ts'
import type { Store } from '#store/ports/store.ts'
import { openLocalDoor } from './admin.ts'
import { openFoundation } from './foundation.ts'
import type { AppOptions } from './options.ts'
import { makeReader } from './reader.ts'
import { makeAppSyncs } from './syncs.ts'

export interface LocalAdmin {
  /** @param body sent as JSON; null: none. */
  ask(call: {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    /** With the query, e.g. `/admin/users`. */
    readonly path: string
    readonly body: unknown
  }): Promise<{ readonly status: number; readonly text: string }>
  /**
   * What the REST API would answer to this user; it counts in no limit.
   * @param path of an operation, with its query.
   * @throws ApiError, or the reason of the signal.
   */
  read(path: string, userId: string, signal: AbortSignal): Promise<unknown>
  /** Releases the store. */
  close(): Promise<void>
}

/** Work that a call began may go on for this long. */
const graceMs = 1000

/**
 * Opens the store as a service would, migrations included.
 * @throws StoreOpenError when another process holds it.
 */
export async function openLocalAdmin(given: AppOptions): Promise<LocalAdmin> {
  // Calls are injected: the listener of the settings, perhaps another machine's name, has no part.
  const adminListener = { host: '127.0.0.1', port: 0, isLoopback: true }
  const options = { ...given, config: { ...given.config, adminListener } }
  const origins = () => toOrigins(options.config)
  const foundation = await openFoundation(options, origins)
  const { store, kv, adapters, readings } = foundation
  const syncs = makeAppSyncs(foundation)
  const door = await openLocalDoor({ ...foundation, syncs, settleUsage: null })
  const reader = makeReader(foundation)
  const authorization = `Bearer ${options.secrets.adminToken.reveal()}`
  return {
    async ask({ method, path, body }) {
      const content = body === null ? {} : { 'content-type': 'application/json' }
      const answer = await door.inject({
        method,
        url: path,
        headers: { host: '127.0.0.1', authorization, ...content },
        ...(body === null ? {} : { payload: JSON.stringify(body) }),
      })
      return { status: answer.statusCode, text: answer.payload }
    },
    async read(path, userId, signal) {
      const caller = await findCaller(store, userId)
      const { pathname, searchParams } = new URL(path, origins().base)
      const operation = operations.find((one) => one.path === pathname)
      assert(operation !== undefined, 'the path is of an operation')
      const { name } = operation
      assert(name !== 'list_events', 'events are fetched from a service that runs')
      return (await reader.read(name, searchParams, { caller, signal })).body
    },
    async close() {
      await reader.close()
      await syncs.close(graceMs)
      await door.close()
      await readings.close()
      await Promise.all(Object.values(adapters).map((adapter) => adapter.close()))
      await kv.close()
      await store.close()
    },
  }
}

/** The user, as a key of theirs would identify them. @throws ApiError `user_not_found` */
async function findCaller(store: Store, userId: string): Promise<Caller> {
  const user = await store.users.find(userId)
  const access = user && (await store.users.findAccess(user.id))
  if (access === null) throw apiError('user_not_found')
  return toCaller(access, { bucketId: `setup:${access.userId}` })
}
