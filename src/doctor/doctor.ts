/**
 * The doctor: checks everything that this process depends on, in parallel and within ten seconds, and reports
 * what is wrong and what to do. It changes nothing and stores nothing; concurrent requests share one
 * examination.
 */

import type { Origins } from '#contract/origins.ts'
import type { Kv } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'
import type { Adapters } from '#providers/port.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store } from '#store/ports/store.ts'
import { checkConfiguration, type Installation } from './configuration.ts'
import { checkConnections } from './connections.ts'
import { checkEndpoints, checkEventKeys, checkLedgers } from './events.ts'
import type { FailingOptions } from './failing.ts'
import { checkFastState, fastStateRemedy } from './fast-state.ts'
import { type Check, type Diagnosis, type Finding, fault, worstOf } from './finding.ts'
import { checkLogins } from './logins.ts'
import { checkDisk, checkEventLoop, eventLoopRemedy, type Machine } from './machine.ts'
import { checkMail, type MailService, mailRemedy } from './mail.ts'
import { checkOrigins, originsRemedy } from './origins.ts'
import { checkProviderWebhooks } from './provider-webhooks.ts'
import { checkProvider, checkUse, remedyForProvider } from './providers.ts'
import { checkEncryption, checkRows, checkStore, remedyForStore } from './storage.ts'
import { checkDeliveries, checkLeases, checkSyncs } from './work.ts'

export type { Installation } from './configuration.ts'
export type { Diagnosis, Finding } from './finding.ts'
export { type Machine, realMachine } from './machine.ts'

export interface DoctorOptions {
  readonly store: Pick<
    Store,
    'inspector' | 'logins' | 'syncs' | 'endpoints' | 'deliveries' | 'mails'
  >
  readonly kv: Pick<Kv, 'ping' | 'connections'>
  readonly adapters: Adapters
  readonly clock: Clock
  /** Null: no mail server is configured. */
  readonly mail: MailService | null
  readonly failures: FailingOptions['failures']
  readonly installation: Installation
  readonly machine: Machine
  /** The origins that currently apply. */
  readonly origins: () => Origins
  /** A check that failed because of a mistake of ours, or timed out: for the log. */
  readonly onFailure: (check: string, error: unknown) => void
  /** Limit per check; 6000 when absent, so that the command has its answer within ten seconds. */
  readonly timeoutMs?: number
}

export type Examine = () => Promise<Diagnosis>

const defaultTimeoutMs = 6000

export function makeDoctor(options: DoctorOptions): Examine {
  const checks = listChecks(options)
  let running: Promise<Diagnosis> | null = null

  async function examine(): Promise<Diagnosis> {
    const found = await Promise.all(checks.map((look) => run(options, look)))
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

/** A check, its name among the findings, and the advice when it times out. */
interface Look {
  readonly name: string
  readonly check: Check
  readonly whenLate: string
}

/** In the order of the report. */
function listChecks(options: DoctorOptions): readonly Look[] {
  const { installation, machine, timeoutMs = defaultTimeoutMs } = options
  const look = (name: string, check: Check, whenLate: string): Look => ({ name, check, whenLate })
  const storeAction = remedyForStore(installation)
  const providers = Object.values(options.adapters).map((adapter) =>
    look(
      `provider:${adapter.provider}`,
      checkProvider(adapter, { ...options, storeWaitMs: timeoutMs / 3 }),
      remedyForProvider(adapter.provider),
    ),
  )
  return [
    look('configuration', async () => checkConfiguration(installation), eventLoopRemedy),
    look('store', checkStore(options), storeAction),
    look('encryption', checkEncryption(options), storeAction),
    look('rows', checkRows(options), storeAction),
    look('fast-state', checkFastState(options), fastStateRemedy),
    ...providers,
    look('links', checkUse(options.adapters, options), storeAction),
    look('logins', checkLogins(options), storeAction),
    look('connections', checkConnections(options), storeAction),
    look('syncs', checkSyncs(options), storeAction),
    look('deliveries', checkDeliveries(options), storeAction),
    look('mail', checkMail(options), mailRemedy),
    look('leases', checkLeases(options), storeAction),
    look('endpoints', checkEndpoints(options.store), storeAction),
    look('ledgers', checkLedgers(options.store), storeAction),
    look('event-keys', checkEventKeys(options.store), storeAction),
    look('webhooks', checkProviderWebhooks(options), storeAction),
    look(
      'disk',
      checkDisk(machine, installation),
      `See that the file system of ${installation.storeDir} answers: an unavailable network file system hangs like this`,
    ),
    look('event-loop', checkEventLoop(machine), eventLoopRemedy),
    look('urls', checkOrigins(options.origins), originsRemedy),
  ]
}

async function run(options: DoctorOptions, look: Look): Promise<readonly Finding[]> {
  const { name, check, whenLate } = look
  const { timeoutMs = defaultTimeoutMs, onFailure } = options
  const late = Promise.withResolvers<never>()
  const deadline = new AbortController()
  const timer = setTimeout(() => {
    const reason = new DOMException('the check took too long', 'TimeoutError')
    deadline.abort(reason)
    late.reject(reason)
  }, timeoutMs)
  try {
    return await Promise.race([check(deadline.signal), late.promise])
  } catch (error) {
    if (deadline.signal.aborted) {
      onFailure(name, error)
      return [fault(name, `no answer within ${timeoutMs / 1000} s`, whenLate)]
    }
    if (error instanceof StoreUnavailableError) {
      const message = `it needs the store: ${error.message}`
      return [fault(name, message, error.remedy ?? 'Repair the store first')]
    }
    onFailure(name, error)
    return [fault(name, 'it could not be examined', 'The log of the server says why')]
  } finally {
    clearTimeout(timer)
  }
}
