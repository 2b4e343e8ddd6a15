/** OAuth tokens for tests of the agents' door: a made-up agent and a person who chooses what it may read. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { request } from 'undici'
import type { Choice, Person } from './person.ts'
import type { Service } from './service.ts'

export interface AgentTokens {
  readonly clientId: string
  readonly accessToken: string
  readonly refreshToken: string
}

const callback = 'http://127.0.0.1:53682/callback'

/** A newly registered agent, allowed by this person with these scopes. */
export async function connectAgent(
  service: Service,
  person: Person,
  choice: Choice = {},
): Promise<AgentTokens> {
  const { client_id: clientId } = await send(`${service.baseUrl}/register`, {
    type: 'application/json',
    body: JSON.stringify({ client_name: 'Agent', redirect_uris: [callback] }),
  })
  const verifier = randomBytes(32).toString('base64url')
  const asked = new URLSearchParams({
    client_id: String(clientId),
    response_type: 'code',
    redirect_uri: callback,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'mcp:read brokerage:read',
    resource: `${service.baseUrl}/mcp`,
  })
  const answer = await person.approve(`${service.baseUrl}/authorize?${asked}`, choice)
  return redeem(service, String(clientId), {
    grant_type: 'authorization_code',
    code: answer.searchParams.get('code') ?? '',
    code_verifier: verifier,
    redirect_uri: callback,
  })
}

/** New tokens of the same grant. */
export function refresh(service: Service, tokens: AgentTokens): Promise<AgentTokens> {
  return redeem(service, tokens.clientId, {
    grant_type: 'refresh_token',
    refresh_token: tokens.refreshToken,
  })
}

export async function revoke(service: Service, tokens: AgentTokens): Promise<void> {
  const fields = { client_id: tokens.clientId, token: tokens.accessToken }
  await send(`${service.baseUrl}/revoke`, { type: form, body: String(new URLSearchParams(fields)) })
}

const form = 'application/x-www-form-urlencoded'

async function redeem(
  service: Service,
  clientId: string,
  fields: Readonly<Record<string, string>>,
): Promise<AgentTokens> {
  const body = new URLSearchParams({ client_id: clientId, ...fields })
  const tokens = await send(`${service.baseUrl}/token`, { type: form, body: body.toString() })
  return {
    clientId,
    accessToken: String(tokens.access_token),
    refreshToken: String(tokens.refresh_token),
  }
}

async function send(
  url: string,
  { type, body }: { readonly type: string; readonly body: string },
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await request(url, { method: 'POST', headers: { 'content-type': type }, body })
  const text = await answer.body.text()
  assert(answer.statusCode < 300, `${url}: ${answer.statusCode} ${text}`)
  return text === '' ? {} : JSON.parse(text)
}
