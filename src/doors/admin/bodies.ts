/**
 * The bodies of the admin API: one strict schema each, so that a misspelt field is refused and not forgotten. Problems
 * come as lines that say what to do; a refused value is never repeated, since it may be a secret.
 */
import { z } from 'zod'
import { isAcceptable } from '#auth/accounts/password.ts'
import { apiError } from '#contract/errors.ts'
import { Provider } from '#contract/resources.ts'
import { isZone, parseInstant } from '#kernel/time.ts'

const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, `must be one of ${names.join(', ')}`)

/** An ISO 8601 instant with `Z` or an offset, as milliseconds since the epoch. */
const instant = z.string('must be text').transform((text, context) => {
  const at = parseInstant(text)
  if (at !== null) return Math.floor(at / 1000)
  context.addIssue('must be an ISO 8601 instant with Z or an offset, e.g. 2027-01-31T00:00:00Z')
  return z.NEVER
})

const plan = oneOf(['developer', 'professional', 'none'])
const status = oneOf(['active', 'trialing', 'past_due', 'canceled'])
const email = z
  .string('must be text')
  .trim()
  .max(254, 'must have at most 254 characters')
  // As browsers read them: an address on a host without dots is one.
  .pipe(z.email({ pattern: z.regexes.html5Email, error: 'must be an e-mail address' }))
const timezone = z
  .string('must be text')
  .refine(isZone, 'must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland')

/** Never repeated in a message, like every refused value. */
const password = z
  .string('must be text')
  .refine(isAcceptable, 'must have 10 to 256 characters; length is what counts')

export const PasswordBody = z.strictObject({ password })

export const NewUserBody = z
  .strictObject({
    email,
    password: password.optional(),
    timezone: timezone.nullable().default(null),
    plan: plan.optional(),
    status: status.optional(),
  })
  .refine((body) => body.plan !== undefined || (body.status ?? 'active') === 'active', {
    path: ['status'],
    message: 'needs a plan beside it, unless it is active',
  })

export const PlanBody = z.strictObject({
  plan,
  status,
  legacyUntil: instant.nullable().default(null),
  grandfathered: z.boolean('must be true or false').default(false),
})

export const NewKeyBody = z.strictObject({
  name: z
    .string('must be text')
    .trim()
    .regex(/^[^\p{Cc}\p{Cs}]{1,100}$/u, 'must have 1 to 100 characters, no control characters')
    .default('API key'),
  expires: instant.nullable().default(null),
})

/** Ids and tokens of the providers: visible ASCII, as they travel in headers and queries. */
const credential = z
  .string('must be text')
  .regex(/^[\x21-\x7e]{1,1024}$/, 'must have 1 to 1024 visible ASCII characters, no blanks')

const credentialsOf = {
  fiskil: z.strictObject({ provider: z.literal('fiskil'), endUserId: credential }),
  akahu: z.strictObject({ provider: z.literal('akahu'), userToken: credential }),
  snaptrade: z.strictObject({
    provider: z.literal('snaptrade'),
    snaptradeUserId: credential,
    userSecret: credential,
  }),
} as const

const providerNames = Provider.options

/** What adopts a consent; its fields depend on the provider. */
export const LinkBody = z.discriminatedUnion(
  'provider',
  [credentialsOf.fiskil, credentialsOf.akahu, credentialsOf.snaptrade],
  `must be one of ${providerNames.join(', ')}`,
)

export const EmptyBody = z.strictObject({})

/** The body as the schema wants it; an absent one counts as empty. @throws ApiError `invalid_params` with details. */
export function parseBody<Body>(schema: z.ZodType<Body>, raw: unknown): Body {
  const given = raw ?? {}
  const result = schema.safeParse(given)
  if (result.success) return result.data
  throw apiError('invalid_params', { details: result.error.issues.flatMap(toLines).slice(0, 20) })

  function toLines(issue: z.core.$ZodIssue): string[] {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${key.slice(0, 100)}: is an unknown field`)
    }
    const [field] = issue.path
    if (field === undefined) return ['body: must be a JSON object']
    return [`${String(field)}: ${isAbsent(given, field) ? 'is required' : issue.message}`]
  }
}

function isAbsent(body: unknown, field: PropertyKey): boolean {
  return typeof body !== 'object' || body === null || !Object.hasOwn(body, field)
}
