/**
 * The operator's pages are a client of the admin API, within the process: they show what it answers and
 * change what it changes, with its checks and its audit.
 */
import type { FastifyInstance } from 'fastify'
import type { Secret } from '#kernel/secret.ts'

export type AdminAnswer<Body> =
  | { readonly kind: 'told'; readonly body: Body }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }

export interface AdminApi {
  ask<Body>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<AdminAnswer<Body>>
  /** Whether the token is right, counted as a guess of this address. */
  check(token: string, address: string): Promise<AdminAnswer<unknown>>
  metrics(): Promise<string>
}

export function makeAdminApi(app: FastifyInstance, adminToken: Secret<string>): AdminApi {
  async function send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { token, address, body }: { token: string; address?: string; body?: object | undefined },
  ) {
    const answer = await app.inject({
      method,
      url: `/admin${path}`,
      headers: { host: '127.0.0.1', authorization: `Bearer ${token}` },
      ...(address === undefined ? {} : { remoteAddress: address }),
      ...(body === undefined ? {} : { payload: body }),
    })
    const told: unknown = answer.body === '' ? null : JSON.parse(answer.body)
    if (answer.statusCode < 400) return { kind: 'told', body: told } as const
    const { error } = told as { error: { message: string; details?: readonly string[] } }
    const message = [error.message, ...(error.details ?? [])].join('. ')
    return { kind: 'refused', status: answer.statusCode, message } as const
  }

  return {
    ask: async <Body>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
      (await send(method, path, { token: adminToken.reveal(), body })) as AdminAnswer<Body>,
    // What cannot stand in a header is a wrong token too.
    check: (token, address) =>
      send('GET', '/service', {
        token: /^[\x21-\x7e]{1,1000}$/.test(token) ? token : '-',
        address,
      }),
    async metrics() {
      return (await app.inject({ method: 'GET', url: '/metrics', headers: { host: '127.0.0.1' } }))
        .body
    },
  }
}
