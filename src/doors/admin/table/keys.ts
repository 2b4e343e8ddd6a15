/** Rows of API keys in the table of the admin API. */
import { z } from 'zod'
import { NewKeyInput } from '#auth/create-key.ts'
import { RotateKeyInput } from '#auth/rotate-key.ts'
import { keyScopes } from '#contract/key-scopes.ts'
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
    scopes: z
      .array(z.enum(keyScopes))
      .nullable()
      .meta({ description: 'The kinds of data that it may read; null: all.' }),
    connectionIds: z
      .array(z.uuid())
      .nullable()
      .meta({ description: 'The connections that it may see; null: all, later ones too.' }),
    accountIds: z
      .array(z.uuid())
      .nullable()
      .meta({ description: 'The accounts that it may see; null: all of its connections.' }),
    addresses: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Where requests may come from; null: anywhere.' }),
    formerUntil: time
      .nullable()
      .meta({ description: 'Until when secrets from before its last rotation are good.' }),
  })
  .meta({ id: 'ApiKey', description: 'A key without its secret: only its hash is stored.' })

const NewApiKey = z
  .strictObject({ id: z.uuid(), name: z.string(), key: z.string(), createdAt: time })
  .meta({ id: 'NewApiKey', description: 'The only answer that has the key itself.' })

const RotatedKey = z
  .strictObject({ id: z.uuid(), name: z.string(), key: z.string(), formerUntil: time.nullable() })
  .meta({ id: 'RotatedApiKey', description: 'The only answer that has the new secret.' })

export const keyCalls = {
  createKey: {
    route: 'POST /admin/users/{user}/keys',
    command: 'keys create',
    summary: 'create an API key; it is shown only once',
    description:
      'A user has at most 20 active keys. What a narrow key may not see does not exist for it.',
    input: body(NewKeyInput, {
      name: { value: 'N', help: 'what the key is for' },
      expires: { value: 'ISO', help: 'instant with Z or an offset; never when absent' },
      scopes: { value: 'S,S', help: `what it may read: ${keyScopes.join(', ')}; all when absent` },
      connectionIds: { value: 'C,C', help: 'connections that it may see; all when absent' },
      accountIds: { value: 'A,A', help: 'accounts that it may see; all when absent' },
      addresses: {
        value: 'IP,CIDR',
        help: 'addresses and networks that it may be used from; any when absent',
      },
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
  rotateKey: {
    route: 'POST /admin/keys/{key}/rotate',
    command: 'keys rotate',
    summary: 'give a key a new secret; it is shown only once',
    description: 'Former secrets stay good for the overlap at most; 0 refuses them at once.',
    input: body(RotateKeyInput, {
      overlapHours: {
        value: 'H',
        help: 'hours that the present secret stays good; 24 when absent',
      },
    }),
    reply: RotatedKey,
    errors: ['key_not_found'],
    audit: ['keys.rotate'],
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
