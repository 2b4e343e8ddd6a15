/**
 * What one row of the admin API's table says: its path, its input and reply by schema, what is recorded, and
 * its words on the command line. Routes, the OpenAPI document, the page and the commands derive from it.
 */
import { z } from 'zod'
import type { AuditAction } from '#contract/audit.ts'
import type { ErrorName } from '#contract/errors.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface AdminCall {
  /** Method and path; placeholders in braces: `GET /admin/users/{user}`. */
  readonly route: `${Method} /admin/${string}`
  /** The words of its command; absent: there is none. */
  readonly command?: string
  /** What it does, beginning with a verb: in the command's help, in the document and on the page. */
  readonly summary: string
  /** What a caller has to know beside it. */
  readonly description?: string
  readonly input?: CallInput
  /** Absent: 200, or 204 without a reply. */
  readonly status?: 201
  readonly reply: z.ZodType | null
  /** Headers that it may have beside the common ones, with their meaning. */
  readonly replyHeaders?: Readonly<Record<string, string>>
  /** In addition to `commonAdminErrors`. */
  readonly errors?: readonly ErrorName[]
  /** The entries of the audit that it can make. */
  readonly audit?: readonly AuditAction[]
}

export function readRoute({ route }: AdminCall): {
  readonly method: Method
  readonly path: string
} {
  const [method = '', path = ''] = route.split(' ')
  return { method: method as Method, path }
}

export const replyStatusOf = ({ status, reply }: AdminCall): number =>
  status ?? (reply === null ? 204 : 200)

export interface CallInput {
  /** A body is parsed by the action, a query by the door. */
  readonly place: 'query' | 'body'
  readonly schema: z.ZodType
  readonly fields: Readonly<Record<string, InputField>>
}

/** What a schema does not say of a field. */
export interface InputField {
  readonly help: string
  /** The placeholder of its value in a usage line; absent: the words that the schema allows, or no value. */
  readonly value?: string
  /** On the command line `-` reads it from standard input. */
  readonly isSecret?: true
  /** The flag's name; absent: the field's in kebab-case. */
  readonly flag?: string
}

/** Every field of the schema, in the order in which flags and parameters are shown. */
type InputFields<Schema extends z.ZodType> = Readonly<
  Record<Extract<keyof z.input<Schema>, string>, InputField>
>

export const body = <Schema extends z.ZodType>(schema: Schema, fields: InputFields<Schema>) =>
  ({ place: 'body', schema, fields }) as const

export const query = <Schema extends z.ZodType>(schema: Schema, fields: InputFields<Schema>) =>
  ({ place: 'query', schema, fields }) as const

/** Errors that any call may answer before its own rules are checked. */
export const commonAdminErrors: readonly ErrorName[] = [
  'invalid_params',
  'missing_authorization',
  'invalid_token',
  'rate_limited',
  'internal',
  'service_unavailable',
]

/** What a provider that has to be asked can answer. */
export const providerErrors: readonly ErrorName[] = [
  'upstream_bad_request',
  'provider_unavailable',
  'provider_not_configured',
  'provider_refuses_us',
]

/** An instant, as text. */
export const time = z.iso.datetime()
export const list = <Row extends z.ZodType>(row: Row) => z.strictObject({ data: z.array(row) })

/** A page of a long list; `next` is the cursor of the following one, null at the end. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ data: z.array(row), next: z.string().nullable() })
