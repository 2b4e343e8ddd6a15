/** Rows of API keys in the table of the admin API. */
import { z } from 'zod'
import { NewKeyInput } from '#auth/create-key.ts'
import { type AdminCall, body, list, time } from './call.ts'

const ApiKey = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    prefix: z.string().meta({ description: 'Its first 16 characters.' }),
    status: z.enum(['active', 'expired', 'revoked']),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable(),
    revokedAt: time.nullable(),
  })
  .meta({ id: 'ApiKey', description: 'A key without its secret: only its hash is stored.' })

const NewApiKey = z
  .strictObject({ id: z.uuid(), name: z.string(), key: z.string(), createdAt: time })
  .meta({ id: 'NewApiKey', description: 'The only answer that has the key itself.' })

export const keyCalls = {
  createKey: {
    route: 'POST /admin/users/{user}/keys',
    command: 'keys create',
    summary: 'create an API key; it is shown only once',
    description: 'A user has at most 20 active keys.',
    input: body(NewKeyInput, {
      name: { value: 'N', help: 'what the key is for' },
      expires: { value: 'ISO', help: 'instant with Z or an offset; never when absent' },
    }),
    status: 201,
    reply: NewApiKey,
    errors: ['user_not_found', 'too_many_keys'],
    audit: ['keys.create'],
  },
  listKeys: {
    route: 'GET /admin/users/{user}/keys',
    command: 'keys list',
    summary: 'list the keys of a user, without their secrets',
    reply: list(ApiKey),
    errors: ['user_not_found'],
  },
  revokeKey: {
    route: 'DELETE /admin/keys/{key}',
    command: 'keys revoke',
    summary: 'revoke a key at once',
    description: 'It takes effect with the next request, and can be repeated.',
    reply: null,
    errors: ['key_not_found'],
    audit: ['keys.revoke'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
