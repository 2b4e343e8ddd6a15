/** The form for a key of the person's own: its fields to the action, and refusals to their fields. */

import type { Connections, LinkingWay } from '#connections/connections.ts'
import type { OwnKeyEnd } from '#connections/linking/connect-by-key.ts'
import type { By, Person } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import type { OwnKeyField } from '#providers/credentials.ts'
import { describeWait } from '../describe-wait.ts'
import { foreignText } from '../html.ts'

export type OwnKeyResult =
  | OwnKeyEnd
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly problems: Readonly<Record<string, string>>
      readonly message: string | null
      readonly retryAfterSeconds: number | null
      readonly cause: unknown
    }

interface Given {
  readonly way: LinkingWay
  readonly form: URLSearchParams
}

/** Blanks around a pasted token are not part of it; an empty optional field was left out. */
export async function connectByOwnKey(
  { connectByKey }: Pick<Connections, 'connectByKey'>,
  by: By<Person>,
  { way, form }: Given,
): Promise<OwnKeyResult> {
  const fields = way.ownKey?.fields ?? []
  const input: Record<string, string> = { provider: way.provider }
  for (const { name, field, isOptional } of fields) {
    const value = (form.get(name) ?? '').trim()
    if (value !== '' || isOptional !== true) input[field] = value
  }
  try {
    return await connectByKey(by, input, null)
  } catch (error) {
    if (!(error instanceof ApiError) || error.entry === 'user_not_found') throw error
    const { status, retryAfterSeconds } = error
    return {
      kind: 'refused',
      status,
      retryAfterSeconds,
      cause: error,
      ...explain(error, way, fields),
    }
  }
}

interface Explained {
  readonly problems: Readonly<Record<string, string>>
  readonly message: string | null
}

function explain(error: ApiError, way: LinkingWay, fields: readonly OwnKeyField[]): Explained {
  const problems: Record<string, string> = {}
  for (const { name, field, label } of fields) {
    const detail = (error.details ?? []).find((line) => line.startsWith(`${field}: `))
    if (detail !== undefined)
      problems[name] = `The ${lowerFirst(label)} ${detail.slice(field.length + 2)}`
  }
  if (Object.keys(problems).length > 0) return { problems, message: null }
  const sentence = toSentence(error, way)
  const [first] = fields
  const isAboutKey = error.entry === 'login_taken' || error.entry === 'upstream_bad_request'
  return isAboutKey && first !== undefined
    ? { problems: { [first.name]: sentence }, message: null }
    : { problems, message: sentence }
}

function toSentence(error: ApiError, { name }: LinkingWay): string {
  if (error.status >= 500) {
    return `${name} does not answer properly at the moment. Nothing was linked. Try again ${describeWait(error)}.`
  }
  if (error.entry === 'upstream_bad_request') {
    const reason = foreignText(error.message.replace(/^Upstream rejected request: /, ''), 300)
    return `${name} does not accept it. ${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
  }
  return [error.message, ...(error.details ?? [])].join('. ')
}

/** A label inside a sentence. */
const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`
