/**
 * What a handler of the admin API gets and answers, by its row of the table. A subject file returns its
 * handlers as a record by the names of the calls; together they have to be complete.
 */
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import type {
  ConnectionId,
  ConsumerId,
  DeliveryId,
  EndpointId,
  KeyId,
  ProgramId,
} from '#kernel/ids.ts'
import type { AdminCall } from './table/call.ts'
import type { AdminCallName, AdminCalls } from './table/table.ts'

/**
 * The placeholders of paths. Ids that do not parse are answered as not found before the handler is called.
 */
interface PathValues {
  readonly user: string
  readonly email: string
  readonly agent: string
  readonly session: string
  readonly key: KeyId
  readonly program: ProgramId
  readonly connection: ConnectionId
  readonly webhook: EndpointId
  readonly delivery: DeliveryId
  readonly consumer: ConsumerId
}

type NamesIn<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** The parsed query. A body stays as it came: the action parses it. */
type GivenInput<Call> = Call extends { readonly input: { readonly place: 'body' } }
  ? { readonly body: unknown }
  : Call extends { readonly input: { readonly place: 'query'; readonly schema: infer Schema } }
    ? { readonly query: z.output<Schema> }
    : unknown

type Asked<Call extends AdminCall> = {
  readonly [Name in NamesIn<Call['route']>]: Name extends keyof PathValues
    ? PathValues[Name]
    : never
} & GivenInput<Call>

type Frozen<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : { readonly [Field in keyof Value]: Frozen<Value[Field]> }

/** Without a reply nothing is answered but the status. */
type ReplyTo<Call extends AdminCall> = Call['reply'] extends z.ZodType
  ? Frozen<z.input<Call['reply']>>
  : undefined

export type CallHandler<Call extends AdminCall> = (
  asked: Asked<Call>,
  reply: Pick<FastifyReply, 'header'>,
) => Promise<ReplyTo<Call>>

export type AdminHandlers<Name extends AdminCallName = AdminCallName> = {
  readonly [One in Name]: CallHandler<AdminCalls[One]>
}
