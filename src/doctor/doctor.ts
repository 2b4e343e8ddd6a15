/**
 * The doctor: looks at everything this process stands on, all at once and within ten seconds, and says what is wrong
 * and what to do. It mends nothing and keeps nothing; two who ask at the same time share one look.
 */
import type { Clock } from '#kernel/time.ts'
import type { Adapters } from '#providers/port.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Kv } from '#store/kv-port.ts'
import type { Store } from '#store/port.ts'
import { checkConfiguration, type Installation } from './configuration.ts'
import { checkConnections } from './connections.ts'
import { checkFastState, mendFastState } from './fast-state.ts'
import { type Check, type Diagnosis, type Finding, fault, worstOf } from './finding.ts'
import { checkDisk, checkEventLoop, freeTheLoop, type Machine } from './machine.ts'
import { askFromOutside, checkOrigins, type PublicOrigins } from './origins.ts'
import { checkProvider, mendWayTo } from './providers.ts'
import { checkEncryption, checkStore, mendStore } from './storage.ts'

export type { Installation } from './configuration.ts'
export type { Diagnosis, Finding } from './finding.ts'
export { type Machine, realMachine } from './machine.ts'

export interface DoctorDeps {
  readonly store: Pick<Store, 'inspector'>
  readonly kv: Pick<Kv, 'ping' | 'isShared'>
  readonly adapters: Adapters
  readonly clock: Clock
  readonly installation: Installation
  readonly machine: Machine
  /** Those that hold at the moment. */
  readonly origins: () => PublicOrigins
  /** A check that broke for a reason of ours, or took too long: for the log. */
  readonly onFailure: (check: string, error: unknown) => void
  /** Of each check; eight seconds when absent, so that the whole stays below ten. */
  readonly timeoutMs?: number
}

export type Examine = () => Promise<Diagnosis>

const defaultTimeoutMs = 8000

/** Makes the doctor's one act. */
export function makeDoctor(deps: DoctorDeps): Examine {
  const checks = listChecks(deps)
  let running: Promise<Diagnosis> | null = null

  async function examine(): Promise<Diagnosis> {
    const found = await Promise.all(checks.map((look) => run(deps, look)))
    const findings = found.flat()
    return { status: worstOf(findings), checks: findings }
  }

  return () => {
    running ??= examine().finally(() => {
      running = null
    })
    return running
  }
}

/** A check, its name among the findings, and what to do when it does not come to an end. */
interface Look {
  readonly name: string
  readonly check: Check
  readonly whenLate: string
}

/** In the order of the answer. */
function listChecks(deps: DoctorDeps): readonly Look[] {
  const { installation, machine } = deps
  const look = (name: string, check: Check, whenLate: string): Look => ({ name, check, whenLate })
  const storeAction = mendStore(installation)
  const providers = Object.values(deps.adapters).map((adapter) =>
    look(
      `provider:${adapter.provider}`,
      checkProvider(adapter, deps.clock),
      mendWayTo(adapter.provider),
    ),
  )
  return [
    look('configuration', async () => checkConfiguration(installation), freeTheLoop),
    look('store', checkStore(deps), storeAction),
    look('encryption', checkEncryption(deps), storeAction),
    look('fast-state', checkFastState(deps), mendFastState),
    ...providers,
    look('connections', checkConnections(deps.store), storeAction),
    look(
      'disk',
      checkDisk(machine, installation),
      `See that the file system of ${installation.storeDir} answers: one on the network that is away hangs like this`,
    ),
    look('event-loop', checkEventLoop(machine), freeTheLoop),
    look('urls', checkOrigins(deps.origins), askFromOutside),
  ]
}

async function run(deps: DoctorDeps, look: Look): Promise<readonly Finding[]> {
  const { name, check, whenLate } = look
  const { timeoutMs = defaultTimeoutMs, onFailure } = deps
  const late = Promise.withResolvers<never>()
  const patience = new AbortController()
  const timer = setTimeout(() => {
    const reason = new DOMException('the check took too long', 'TimeoutError')
    patience.abort(reason)
    late.reject(reason)
  }, timeoutMs)
  try {
    return await Promise.race([check(patience.signal), late.promise])
  } catch (error) {
    if (patience.signal.aborted) {
      onFailure(name, error)
      return [fault(name, `no answer within ${timeoutMs / 1000} s`, whenLate)]
    }
    if (error instanceof StoreUnavailableError) {
      return [fault(name, 'it stands in the store, which does not answer', 'Mend the store first')]
    }
    onFailure(name, error)
    return [fault(name, 'it could not be examined', 'The log of the server says why')]
  } finally {
    clearTimeout(timer)
  }
}
