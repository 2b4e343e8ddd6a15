/**
 * Assembles the authorization server with its dependencies: limits and secrets from the configuration, the
 * guarded HTTP client for clients' documents, reports for operators. It contains no rule of its own.
 */
import type { IncomingMessage } from 'node:http'
import { maxDocumentBytes } from '#auth/oauth/engine.ts'
import { makeOAuth, type OAuth } from '#auth/oauth/oauth.ts'
import type { Sessions } from '#auth/sign-in/sessions.ts'
import { clientAddress } from '#doors/client.ts'
import { readBody } from '#doors/listener/request-body.ts'
import { makeRefusalPage } from '#doors/pages/consent/refusal-page.ts'
import { makeCookies } from '#doors/pages/cookies.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { fetchDocument } from '#outbound/fetch-document.ts'
import { makeLateAgent } from '#outbound/late-agent.ts'
import type { AssemblyOptions } from './foundation.ts'

/** Path of the consent page; a request's uid is appended. */
const consentPath = '/consent'
const documentTimeoutMs = 5000

export interface Authorization extends OAuth {
  /** Closes its outbound connections. */
  close(): Promise<void>
}

/** The caller closes it, before the store. */
export async function openAuthorization(
  options: AssemblyOptions,
  sessions: Pick<Sessions, 'find'>,
): Promise<Authorization> {
  const { config, store, kv, clock, origins, sealer, reports } = options
  const agent = makeLateAgent({ maxResponseBytes: maxDocumentBytes })
  const addressOf = (request: IncomingMessage) =>
    clientAddress(request, (address) => config.trustedProxies.includes(address))
  const oauth = makeOAuth({
    store,
    origins,
    clock,
    windows: kv.windows,
    limits: { register: config.limits.register, token: config.limits.token },
    addressOf,
    async findPerson(request) {
      const cookies = makeCookies({ secure: origins().base.startsWith('https:') })
      const find = () => sessions.find(cookies.session(request))
      return (await store.forStranger(toAddressGroup(addressOf(request)), find))?.userId ?? null
    },
    readBody,
    secret: sealer.derive('oauth'),
    fetchDocument: async (url) =>
      fetchDocument(url, {
        agent: await agent.open(),
        maxBytes: maxDocumentBytes,
        timeoutMs: documentTimeoutMs,
      }),
    consentPath,
    plans: config.plans,
    renderRefusal: await makeRefusalPage(),
    report: reports.oauth,
    ...(options.checkCode === undefined ? {} : { checkCode: options.checkCode }),
  })
  return { ...oauth, close: () => agent.close() }
}
