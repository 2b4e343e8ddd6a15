/** What answers on the public listener: reads, authorization server, doors. `ROLE=worker` has none of it. */
import { sellsPlans } from '#auth/plans.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { listenerTimes } from '#doors/listener/listener.ts'
import { makeUnknownPage } from '#doors/pages/unknown-page.ts'
import { makePublicServer } from '#doors/public-server.ts'
import type { UserId } from '#kernel/ids.ts'
import { openAuthorization } from './authorization.ts'
import { listDirectDoors } from './direct-doors.ts'
import type { AssemblyOptions } from './foundation.ts'
import { assembleReading } from './reads.ts'
import { makeAppLimits, makeAppUsage } from './usage.ts'

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

export async function openServing(options: AssemblyOptions): Promise<Serving> {
  const { config, store, clock } = options
  const sessions = makeSessions({ store, clock })
  const authorization = await openAuthorization(options, sessions)
  const unknownPage = await makeUnknownPage({
    plansAreSold: sellsPlans(config.plans),
    isSandbox: options.madeUpPeople !== undefined,
  })
  const reads = assembleReading({ ...options, unknownPage, tokens: authorization.tokens })
  const server = makePublicServer({
    lane: reads.lane,
    ...(options.tracing === undefined ? {} : { around: options.tracing.serve }),
    ...(options.checkCode === undefined ? {} : { checkCode: options.checkCode }),
    onFailure: (error) => options.reports.backgroundFailure('doors', error),
    times: { ...listenerTimes, silenceMs: config.requestTimeoutMs + listenerTimes.silenceMs },
    direct: listDirectDoors({
      ...options,
      authorization,
      agentDoor: reads.agents,
      simplefin: reads.simplefin,
    }),
    mount: async (fastify) => {
      const { mountDoors } = await import('./doors.ts')
      await mountDoors(fastify, {
        ...options,
        authorization,
        sessions,
        ...reads.pages,
        readUsage: makeAppUsage(options, {
          settle: reads.settleUsage,
          agents: authorization.agents,
        }),
        readLimits: makeAppLimits(options, authorization.agents),
      })
    },
  })
  return {
    listen: () => server.listen(config.listener.host, config.listener.port),
    drain(deadlineMs) {
      reads.endWaits()
      return server.drain(deadlineMs)
    },
    settleUsage: reads.settleUsage,
    async close() {
      await reads.close()
      await authorization.close()
    },
  }
}
