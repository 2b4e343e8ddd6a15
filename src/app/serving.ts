/**
 * What answers on the public listener: reads, the authorization server and the doors. A process with `ROLE=worker` has
 * none of it.
 */
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { listenerTimes } from '#doors/listener.ts'
import { makePublicServer } from '#doors/public-server.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Origins } from '#settings/config-types.ts'
import { openAuthorization } from './authorization.ts'
import { listDirectDoors } from './direct-doors.ts'
import type { Foundation } from './foundation.ts'
import type { AppOptions } from './options.ts'
import { assembleReading } from './reads.ts'
import { makeAppLimits, makeAppUsage } from './usage.ts'

type ServingParts = AppOptions &
  Foundation & {
    /** Read for each answer: with port 0 they are known once the listener is bound (reading R2). */
    readonly origins: () => Origins
  }

export interface Serving {
  /** Binds the public listener; returns its port. */
  listen(): Promise<number>
  /** Requests in flight have `deadlineMs` to finish, then they are aborted. */
  drain(deadlineMs: number): Promise<void>
  /** Writes what this process has counted of a user. */
  settleUsage(userId: UserId): Promise<void>
  /** To be called after `drain`, before the store is closed. */
  close(): Promise<void>
}

export async function openServing(parts: ServingParts): Promise<Serving> {
  const { config, store, clock, secrets } = parts
  const authorization = await openAuthorization({
    ...parts,
    encryptionKeys: secrets.encryptionKeys.reveal(),
    report: parts.reports.oauth,
  })
  const reads = assembleReading({ ...parts, tokens: authorization.tokens })
  const sessions = makeSessions({ store, clock })
  const server = makePublicServer({
    lane: reads.lane,
    ...(parts.checkCode === undefined ? {} : { checkCode: parts.checkCode }),
    onFailure: (error) => parts.reports.backgroundFailure('doors', error),
    times: { ...listenerTimes, silence: config.requestTimeoutMs + listenerTimes.silence },
    direct: listDirectDoors({ ...parts, authorization, agentDoor: reads.agents }),
    mount: async (fastify) => {
      const { mountDoors } = await import('./doors.ts')
      await mountDoors(fastify, {
        ...parts,
        authorization,
        sessions,
        readUsage: makeAppUsage(parts, reads.settleUsage),
        readLimits: makeAppLimits(parts, authorization.agents),
      })
    },
  })
  return {
    listen: () => server.listen(config.listener.host, config.listener.port),
    drain: (deadlineMs) => server.drain(deadlineMs),
    settleUsage: reads.settleUsage,
    async close() {
      await reads.close()
      await authorization.close()
    },
  }
}
