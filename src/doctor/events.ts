/**
 * Webhook endpoints that receive nothing although their owner did not disable them, ledgers that do not match
 * endpoints and consumers (reading R34b), and the place of the event keys, which must be private and
 * writable.
 */
import { StoreUnavailableError } from '#store/failure.ts'
import type { DamagedEndpoint, TroubledEndpoint } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

type Options = Pick<Store, 'inspector' | 'endpoints'>

/** Listed individually; further ones are only counted. */
const maxNamed = 20
/** Opened one by one, as logins are. */
const maxExamined = 1000

export function checkEndpoints({ inspector, endpoints }: Options): Check {
  return async () => {
    const counts = await endpoints.countByHealth()
    const damaged = await inspector.listDamagedEndpoints(maxExamined)
    const failing = await inspector.listTroubledEndpoints(maxNamed + 1)
    const troubled = [
      ...damaged.map(describeDamaged),
      ...failing.filter(({ id }) => damaged.every((one) => one.id !== id)).map(describe),
    ]
    const set = Object.entries(counts).filter(([, count]) => count > 0)
    const message =
      set.length === 0
        ? 'there is none'
        : set.map(([health, count]) => `${count} ${health}`).join(', ')
    if (troubled.length === 0) return [ok('endpoints', message)]
    const more: readonly Finding[] =
      troubled.length <= maxNamed
        ? []
        : [
            warning(
              'endpoints:more',
              'more are in trouble',
              'Resolve these first, or list a user’s with `tributary webhooks list U`',
            ),
          ]
    return [
      warning('endpoints', message, 'The findings below say what each of them needs'),
      ...troubled.slice(0, maxNamed),
      ...more,
    ]
  }
}

function describeDamaged({ id, email, part }: DamagedEndpoint): Finding {
  const isUrl = part === 'url'
  return fault(
    `endpoint:${id}`,
    `nothing can be sent to the endpoint of ${email}: its ${isUrl ? 'URL' : 'secret'} cannot be decrypted`,
    isUrl
      ? `Remove it with \`tributary webhooks remove ${id}\`; ${email} creates it again`
      : `Give it a new one with \`tributary webhooks rotate ${id}\`, for ${email}`,
  )
}

function describe({ id, email, health, failingSince, disabledReason }: TroubledEndpoint): Finding {
  const name = `endpoint:${id}`
  const whose = `the endpoint of ${email}`
  if (health === 'paused') {
    const since = failingSince === null ? '' : ` since ${new Date(failingSince).toISOString()}`
    return warning(
      name,
      `${whose} has failed every attempt${since}: only its oldest delivery is attempted`,
      `Look at its answers with \`tributary webhooks deliveries ${id}\`, and inform ${email}`,
    )
  }
  const reason = disabledReason === 'gone' ? 'it answered 410' : 'it failed for five days'
  return warning(
    name,
    `${whose} was disabled: ${reason}`,
    `Once it works, \`tributary webhooks enable ${id}\` and replay what it missed; or \`tributary webhooks remove ${id}\``,
  )
}

export function checkLedgers({ inspector }: Options): Check {
  return async () => {
    const { withoutLedger, unusedLedgers } = await inspector.countLedgerMismatches()
    const findings: Finding[] = []
    if (withoutLedger > 0) {
      findings.push(
        fault(
          'ledgers',
          `users with an endpoint or a consumer and without a ledger: ${withoutLedger}; they receive no events`,
          'Make another endpoint for each (`tributary webhooks create U --url …`), which begins the ledger, and report this',
        ),
      )
    }
    if (unusedLedgers > 0) {
      findings.push(
        warning(
          'ledgers:idle',
          `users with a ledger and without an endpoint or a consumer: ${unusedLedgers}`,
          'Make an endpoint for each and remove it again, which ends the ledger, and report this',
        ),
      )
    }
    return findings.length > 0
      ? findings
      : [ok('ledgers', 'every user with an endpoint or a consumer has one')]
  }
}

export function checkEventKeys({ inspector }: Options): Check {
  return async () => {
    try {
      const { place, exposure } = await inspector.examineKeys()
      if (exposure === null) return [ok('event-keys', `${place} takes writes and is private`)]
      return [
        fault(
          'event-keys',
          `${place} is not private: ${exposure}`,
          'Take the right away from all others (docs/operations/install.md, Event keys and backups)',
        ),
      ]
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return [
        fault(
          'event-keys',
          error.message,
          error.remedy ??
            'See that the place of the event keys is there and can be written: without it no event is accepted',
        ),
      ]
    }
  }
}
