/**
 * Each configured provider: whether it answers, whether it accepts our app's credentials, and what time it has. People
 * and their consents are not asked about.
 */
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { Adapter, ProbeReply } from '#providers/port.ts'
import { compareClocks } from './clocks.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

const credentials: Readonly<Record<Provider, string>> = {
  fiskil: 'FISKIL_CLIENT_ID and FISKIL_CLIENT_SECRET',
  akahu: 'AKAHU_APP_TOKEN and AKAHU_APP_SECRET',
  snaptrade: 'SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY',
}

/** What to do when a provider does not answer. */
export function mendWayTo(provider: Provider): string {
  return `See the provider’s status page, then ${baseUrlOf(provider)} and this machine’s way out (DNS, firewall)`
}

export function checkProvider(adapter: Adapter, clock: Clock): Check {
  const { provider } = adapter
  const name = `provider:${provider}`
  return async (signal) => {
    if (adapter.probe === undefined) return [ok(name, 'configured; it cannot be asked')]
    const asked = clock.now()
    const reply = await adapter.probe({ signal, priority: 'user' }).catch(toReply)
    const span = { asked, answered: clock.now() }
    return [
      reply.failure === null
        ? ok(name, 'answers and accepts our credentials')
        : describe(provider, reply.failure),
      ...compareClocks(`clock:${provider}`, provider, reply.theirTimeMs, span),
    ]
  }
}

function baseUrlOf(provider: Provider): string {
  return `${provider.toUpperCase()}_BASE_URL`
}

function toReply(error: unknown): ProbeReply {
  if (!(error instanceof UpstreamError)) throw error
  return { theirTimeMs: null, failure: error.failure }
}

function describe(provider: Provider, failure: UpstreamFailure): Finding {
  const name = `provider:${provider}`
  const { detail } = failure
  switch (failure.kind) {
    case 'misconfigured':
      return failure.status === 410
        ? fault(name, `has retired an endpoint: ${detail}`, 'Upgrade Tributary')
        : fault(
            name,
            `refuses us: ${detail}`,
            `Compare ${credentials[provider]} with the provider’s console, and this machine’s clock with NTP`,
          )
    case 'throttled':
      return warning(
        name,
        `throttles us: ${detail}`,
        `Look again in ${failure.retryAfterSeconds} s; if it stays so, ask the provider for a higher limit`,
      )
    case 'unavailable':
      return fault(
        name,
        failure.status === null ? detail : `answers ${failure.status}: ${detail}`,
        mendWayTo(provider),
      )
    case 'malformed':
    case 'rejected':
    case 'account_gone':
    case 'consent_lost':
    case 'preparing':
      return fault(
        name,
        `does not answer as ${provider} does: ${detail}`,
        `See that ${baseUrlOf(provider)} leads to the provider and that no proxy answers in its place`,
      )
    default:
      return unreachable(failure)
  }
}
