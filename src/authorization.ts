/**
 * The authorization server with what it stands on: limits and secrets from the configuration, the guarded way out for
 * clients' documents, reports for operators. It holds no rule of its own.
 */
import { maxDocumentBytes } from '#auth/oauth/engine.ts'
import { makeOAuth, type OAuth, type OAuthReport } from '#auth/oauth/oauth.ts'
import { clientAddress } from '#doors/client.ts'
import type { Clock } from '#kernel/time.ts'
import { fetchDocument } from '#outbound/fetch-document.ts'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import type { Kv } from '#store/kv-port.ts'
import type { Store } from '#store/port.ts'
import { makeSealer } from '#store/seal.ts'
import type { Config, Origins } from './config.ts'

export interface AuthorizationParts {
  readonly config: Config
  readonly store: Store
  readonly kv: Kv
  readonly clock: Clock
  readonly encryptionKeys: readonly Uint8Array[]
  /** Asked for at every request: with port 0 they are known late. */
  readonly origins: () => Origins
  readonly report: OAuthReport
}

/** Where the consent page lies; a request's uid follows it. */
const consentPath = '/consent'
const documentTimeoutMs = 5000

/** Opens it; whoever does closes it before the store. */
export async function openAuthorization(parts: AuthorizationParts): Promise<OAuth> {
  const { config, store, kv, clock, origins, report } = parts
  const agent = makeGuardedAgent({ maxResponseBytes: maxDocumentBytes })
  const oauth = await makeOAuth({
    store,
    origins,
    clock,
    windows: kv.windows,
    limits: { register: config.limits.register, token: config.limits.token },
    addressOf: (request) =>
      clientAddress(request, (address) => config.trustedProxies.includes(address)),
    secret: makeSealer(parts.encryptionKeys).derive('oauth'),
    fetchDocument: (url) =>
      fetchDocument(url, { agent, maxBytes: maxDocumentBytes, timeoutMs: documentTimeoutMs }),
    consentPath,
    report,
  })
  return {
    ...oauth,
    async close() {
      await oauth.close()
      await agent.destroy()
    },
  }
}
