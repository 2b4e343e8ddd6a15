/**
 * The webhooks of each provider: the URL to register there, whether the provider can reach it, and whether a
 * webhook ever led to a sync. Which URL is registered is known only to the provider.
 */

import { isIP } from 'node:net'
import type { Origins } from '#contract/origins.ts'
import type { Provider } from '#contract/resources.ts'
import { isPublicAddress } from '#kernel/addresses.ts'
import { toIso } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { Adapters } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, ok, warning } from './finding.ts'

interface Options {
  readonly adapters: Adapters
  readonly store: Pick<Store, 'inspector'>
  readonly installation: Installation
  readonly origins: () => Origins
}

export function checkProviderWebhooks({ adapters, store, installation, origins }: Options): Check {
  return async () => {
    const runs = await store.inspector.findProviderRuns()
    const { base } = origins()
    return Object.values(adapters).map(({ provider, webhooks, access }) => {
      if (access.off.includes('webhooks')) return describeOff(provider)
      if (webhooks === undefined) return describeIdle(provider)
      return describe({ provider, base, installation, lastRunAt: runs[provider] ?? null })
    })
  }
}

/** Nothing is to be set: the provider sends none for these keys. */
function describeOff(provider: Provider): Finding {
  const message =
    'none are sent for personal keys: connections are read every SYNC_INTERVAL_MINUTES'
  return ok(`webhooks:${provider}`, message)
}

function describeIdle(provider: Provider): Finding {
  const secret = factsOf(provider).settings.optional.webhookSecret
  return ok(
    `webhooks:${provider}`,
    'none are received: connections are read every SYNC_INTERVAL_MINUTES',
    secret === undefined ? null : `To receive them, set ${secret}`,
  )
}

interface Known {
  readonly provider: Provider
  readonly base: string
  readonly installation: Installation
  readonly lastRunAt: number | null
}

function describe({ provider, base, installation, lastRunAt }: Known): Finding {
  const name = `webhooks:${provider}`
  const url = `${base}/providers/${provider}/webhook`
  if (lastRunAt !== null) return ok(name, `the last one led to a sync at ${toIso(lastRunAt)}`)
  if (installation.mode === 'sandbox') {
    return ok(name, `none has led to a sync yet; the emulator sends them to ${url}`)
  }
  if (isInternal(base)) {
    return warning(
      name,
      `${base} is an address of this machine or network, which ${provider} cannot reach`,
      'To receive webhooks, set BASE_URL to an https origin that the provider reaches; without them connections are read every SYNC_INTERVAL_MINUTES',
    )
  }
  return warning(
    name,
    'none has led to a sync lately',
    `Register ${url} at ${provider}, and see that the proxy passes it on; without webhooks connections are read every SYNC_INTERVAL_MINUTES`,
  )
}

/** A name may lead anywhere; only `localhost` is known to lead to this machine. */
function isInternal(origin: string): boolean {
  const host = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? /^(?:.+\.)?localhost$/i.test(host) : !isPublicAddress(host)
}
