/**
 * Requests Akahu's webhooks about a token (docs/providers/akahu.md, Webhooks): one request for each kind of
 * webhook, with our login's id as the text that each webhook repeats. They are requested after a link, again
 * when Akahu has cancelled them, and ended with the token.
 */
import { z } from 'zod'
import { UpstreamError } from '../failure.ts'
import type { CallContext, Login } from '../port.ts'
import type { AkahuClient, AkahuRequest } from './client.ts'
import { malformed } from './failures.ts'
import { tokensOf } from './tokens.ts'

const kinds = ['TOKEN', 'ACCOUNT', 'TRANSACTION'] as const

/** More than any token of ours has; further ones are not changed. */
const maxListed = 50

const WebhooksBody = z.object({
  success: z.literal(true),
  items: z.array(
    z.object({
      _id: z.string().regex(/^[\w-]{1,100}$/),
      type: z.string().nullish(),
      state: z.string().nullish(),
    }),
  ),
})
type Standing = z.infer<typeof WebhooksBody>['items']

/** Requests every kind not yet requested with this login's id. Personal apps have no webhooks. */
export async function listen(client: AkahuClient, login: Login, call: CallContext): Promise<void> {
  if (client.isPersonal(tokensOf(login)) === true) return
  const standing = await list(client, login, call)
  const own = standing.filter(({ state }) => state === login.id).map(({ type }) => type)
  for (const kind of kinds) {
    if (own.includes(kind)) continue
    const json = { webhook_type: kind, state: login.id }
    const request: AkahuRequest = { method: 'POST', route: '/webhooks', target: '/webhooks', json }
    await client.asUser(tokensOf(login), request, call)
  }
}

/** Ends what `listen` requested. The token is revoked next, so a refusal is reported and not thrown. */
export async function unlisten(
  client: AkahuClient,
  login: Login,
  { call, onRefused }: { readonly call: CallContext; readonly onRefused: () => void },
): Promise<void> {
  try {
    const standing = await list(client, login, call)
    for (const { _id, state } of standing) {
      if (state !== login.id) continue
      const target = `/webhooks/${_id}`
      const request: AkahuRequest = { method: 'DELETE', route: '/webhooks/{id}', target }
      await client.asUser(tokensOf(login), request, call)
    }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (error.failure.kind !== 'consent_lost') onRefused()
  }
}

async function list(client: AkahuClient, login: Login, call: CallContext): Promise<Standing> {
  const request = { method: 'GET', route: '/webhooks', target: '/webhooks' } as const
  const body = await client.asUser(tokensOf(login), request, call)
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (cause) {
    throw malformed('the list of webhooks is not JSON', cause)
  }
  const checked = WebhooksBody.safeParse(parsed)
  if (!checked.success) throw malformed('the list of webhooks has another shape than expected')
  return checked.data.items.slice(0, maxListed)
}
