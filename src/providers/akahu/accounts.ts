/**
 * Akahu's small bodies, validated by schema: the user of a token, and the one list of accounts that
 * discovery, balances and the check of a login's consent all use. Numbers stay source text (reading R24).
 */
import { z } from 'zod'
import { parseExactJson } from '#kernel/json.ts'
import type { CallContext } from '../port.ts'
import type { AkahuClient } from './client.ts'
import { malformed } from './failures.ts'
import type { UserTokens } from './tokens.ts'

const text = z.string()
const id = z.string().min(1)

const WireAccount = z.object({
  _id: id,
  _migrated: id.nullish(),
  _authorisation: id.nullish(),
  _credentials: id.nullish(),
  connection: z.object({ _id: id, name: text, logo: text.nullish() }),
  name: text,
  status: text,
  formatted_account: text.nullish(),
  type: text,
  balance: z
    .object({
      currency: text.nullish(),
      current: z.unknown().optional(),
      available: z.unknown().optional(),
    })
    .nullish(),
  refreshed: z
    .object({ balance: text.nullish(), transactions: text.nullish(), meta: text.nullish() })
    .nullish(),
})
export type WireAccount = z.infer<typeof WireAccount>

const AccountsBody = z.object({
  success: z.literal(true),
  items: z.array(WireAccount),
  // The list is documented as not paged. Were it, the first page alone would look like withdrawn consents.
  cursor: z.object({ next: z.null().optional() }).nullish(),
})
const MeBody = z.object({
  success: z.literal(true),
  item: z.object({ _id: id, email: text.nullish() }),
})

/** Every account that the tokens show, in Akahu's order. */
export async function fetchAccounts(
  client: AkahuClient,
  tokens: UserTokens,
  call: CallContext,
): Promise<readonly WireAccount[]> {
  const request = { method: 'GET', route: '/accounts', target: '/accounts' } as const
  return readBody(AccountsBody, await client.asUser(tokens, request, call)).items
}

/** The Akahu user that the tokens belong to; the e-mail address only where the app may read it. */
export async function fetchUser(
  client: AkahuClient,
  tokens: UserTokens,
  call: CallContext,
): Promise<{ readonly _id: string; readonly email?: string | null | undefined }> {
  const request = { method: 'GET', route: '/me', target: '/me' } as const
  return readBody(MeBody, await client.asUser(tokens, request, call, 'identify')).item
}

/** The login of an account; older data call it `_credentials`. Null when the account names none. */
export function loginOf(account: WireAccount): string | null {
  return account._authorisation ?? account._credentials ?? null
}

/** Parses an answer; throws `malformed` for another shape. */
export function readBody<Body>(schema: z.ZodType<Body>, bytes: Uint8Array): Body {
  let parsed: unknown
  try {
    parsed = parseExactJson(Buffer.from(bytes).toString('utf8'))
  } catch (cause) {
    throw malformed('the answer is not JSON', cause)
  }
  const checked = schema.safeParse(parsed)
  if (checked.success) return checked.data
  // Paths only, because the values may be the user's data.
  const where = checked.error.issues.slice(0, 3).map((issue) => issue.path.join('.') || 'body')
  throw malformed(`the answer has another shape than expected at ${where.join(', ')}`)
}
