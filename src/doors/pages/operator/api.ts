/**
 * The operator's pages are a client of the admin API, within the process: they show what it answers and
 * change what it changes, with its checks and its audit.
 */
import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import { ErrorEnvelope } from '#contract/resources.ts'
import type { Secret } from '#kernel/secret.ts'
import type { AdminCallName, AdminCalls } from '../../admin/table/table.ts'

type Call = AdminCalls[AdminCallName]
type Method = 'GET' | 'POST' | 'DELETE'
type PathFor<Route, M extends Method> = Route extends `${M} /admin${infer Path}` ? Path : never
type PathOf<M extends Method> = PathFor<Call['route'], M>
type Told<Reply> = Reply extends z.ZodType ? z.output<Reply> : null

/** What a call answers; null: nothing. */
export type AdminReply<M extends Method, Path extends PathOf<M>> = Told<
  Extract<Call, { readonly route: `${M} /admin${Path}` }>['reply']
>

/** One row of a list. */
export type AdminRow<Path extends PathOf<'GET'>> =
  AdminReply<'GET', Path> extends { data: (infer Row)[] } ? Row : never

export type AdminAnswer<Told> =
  | { readonly kind: 'told'; readonly body: Told }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }

export interface AdminApi {
  /** `values`: of the placeholders in the path. */
  ask<M extends Method, Path extends PathOf<M>>(
    method: M,
    path: Path,
    given?: {
      readonly values?: Readonly<Record<string, string>>
      readonly query?: Readonly<Record<string, string>>
      readonly body?: object
    },
  ): Promise<AdminAnswer<AdminReply<M, Path>>>
  /** Whether the token is right, counted as a guess of this address. */
  check(token: string, address: string): Promise<AdminAnswer<unknown>>
}

export function makeAdminApi(app: FastifyInstance, adminToken: Secret<string>): AdminApi {
  async function send(
    method: Method,
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
    const { error } = ErrorEnvelope.parse(told)
    const message = [error.message, ...(error.details ?? [])].join('. ')
    return { kind: 'refused', status: answer.statusCode, message } as const
  }

  return {
    async ask<M extends Method, Path extends PathOf<M>>(
      method: M,
      path: Path,
      { values = {}, query = {}, body }: Parameters<AdminApi['ask']>[2] = {},
    ) {
      const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
      const url = `${filled}?${new URLSearchParams(query)}`
      const answer = await send(method, url, { token: adminToken.reveal(), body })
      // The handler of the call answers with the reply of its row, or it does not compile.
      return answer as AdminAnswer<AdminReply<M, Path>>
    },
    // Text that is not valid in a header is a wrong token.
    check: (token, address) =>
      send('GET', '/service', {
        token: /^[\x21-\x7e]{1,1000}$/.test(token) ? token : '-',
        address,
      }),
  }
}
