/**
 * The input for adopting a consent: a person's credentials at a provider. Each provider declares its fields;
 * a misspelt field is refused instead of ignored.
 */
import { z } from 'zod'
import { Provider } from '#contract/resources.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { Credentials } from '#providers/credentials.ts'

/** Ids and tokens of the providers: visible ASCII, as allowed in headers and queries. */
const credential = z
  .string('must be text')
  .min(1, 'is empty; copy it again')
  .max(1024, 'is longer than 1024 characters; copy it alone')
  .regex(
    /^[\x21-\x7e]*$/,
    'has blanks, line ends, curly quotes or other characters outside ASCII; copy it alone',
  )

/** A file's text, e.g. a key in PEM. */
const longText = z
  .string('must be text')
  .min(1, 'is empty; copy it again')
  .max(16_384, 'is longer than 16384 characters; copy the file alone')

function makeCredentials(provider: Provider) {
  const fields = Object.entries(factsOf(provider).linkFields).map(
    ([field, { isOptional, isLong }]) => {
      const kind = isLong === true ? longText : credential
      return [field, isOptional === true ? kind.optional() : kind]
    },
  )
  return z.strictObject({ provider: z.literal(provider), ...Object.fromEntries(fields) })
}

type CredentialsBody = ReturnType<typeof makeCredentials>

export const LinkInput = z.discriminatedUnion(
  'provider',
  Provider.options.map(makeCredentials) as [CredentialsBody, ...CredentialsBody[]],
  `must be one of ${Provider.options.join(', ')}`,
) as unknown as z.ZodType<Credentials>
