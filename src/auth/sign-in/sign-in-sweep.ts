/**
 * Deletes ended sessions, expired links that they began, expired challenges that passkeys answered, and old
 * audit entries of sign-ins, refused sign-ins and sign-outs in small batches.
 */
import { runInBatches } from '#jobs/batches.ts'
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, dayMs, minuteMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import type { Sessions } from './sessions.ts'

/** Batches per run, each bounded by the store. */
const maxBatches = 100

const auditBatch = 1000

/**
 * Refused sign-ins matter while an attack lasts; sign-ins and sign-outs while it may matter who was signed
 * in. The newest of each user are kept, and so are the newest refusals of unknown addresses.
 */
const kept = {
  refusals: { maxAgeMs: 90 * dayMs, ofUser: 500, ofNobody: 10_000 },
  sessions: { maxAgeMs: 365 * dayMs, ofUser: 500, ofNobody: 0 },
} as const

/** Every sweep runs every ten minutes. */
export function makeSignInSweep(options: {
  readonly sessions: Pick<Sessions, 'sweep'>
  readonly store: Pick<Store, 'auditLog' | 'linkings' | 'passkeys'>
  readonly clock: Clock
}): PeriodicTask {
  const { sessions, store, clock } = options
  const sweepAudit = (kind: keyof typeof kept) => {
    const { maxAgeMs, ...counts } = kept[kind]
    const before = clock.now() - maxAgeMs
    return store.auditLog.sweep(kind, { before, ...counts, limit: auditBatch })
  }
  async function sweep(): Promise<number> {
    const ended = (await sessions.sweep()) + (await store.linkings.sweep(clock.now()))
    const answered = await store.passkeys.sweepChallenges(clock.now())
    const refused = await sweepAudit('refusals')
    return ended + answered + refused + (await sweepAudit('sessions'))
  }
  return {
    name: 'account-sweep',
    everyMs: 10 * minuteMs,
    firstRun: 'at_once',
    run: (stop) => runInBatches(sweep, { maxBatches, stop }),
  }
}
