/** Rows of programs that read SimpleFIN in the table of the admin API. */
import { z } from 'zod'
import { NewProgramInput } from '#auth/programs/create-program.ts'
import { type AdminCall, body, list, time } from './call.ts'

const Program = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    status: z.enum(['waiting', 'active', 'expired', 'revoked']),
    connections: z
      .array(z.uuid())
      .nullable()
      .meta({ description: 'What it may see; null: every connection, later ones too.' }),
    createdAt: time,
    claimedAt: time.nullable().meta({ description: 'When its setup token was exchanged.' }),
    lastUsedAt: time.nullable(),
    revokedAt: time.nullable(),
    repeatedAt: time.nullable().meta({
      description: 'When its spent setup token was presented again: somebody else may have it.',
    }),
  })
  .meta({
    id: 'SimplefinProgram',
    description: 'A program that reads SimpleFIN. Its tokens are stored as hashes alone.',
  })

const NewProgram = z
  .strictObject({ id: z.uuid(), name: z.string(), setupToken: z.string(), expiresAt: time })
  .meta({ id: 'NewSimplefinProgram', description: 'The only answer that has the setup token.' })

export const programCalls = {
  createProgram: {
    route: 'POST /admin/users/{user}/simplefin',
    command: 'simplefin create',
    summary: 'make a setup token for a program that reads SimpleFIN; it is shown only once',
    description: 'The program exchanges it once, within a day, for an access URL of its own.',
    input: body(NewProgramInput, {
      name: { value: 'N', help: 'which program it is for' },
      connections: { value: 'C,C', help: 'ids of connections that it may see; all when absent' },
    }),
    status: 201,
    reply: NewProgram,
    errors: ['user_not_found', 'too_many_programs'],
    audit: ['programs.create'],
  },
  listPrograms: {
    route: 'GET /admin/users/{user}/simplefin',
    command: 'simplefin list',
    summary: 'list the programs of a user that read SimpleFIN, with their last use',
    reply: list(Program),
    errors: ['user_not_found'],
  },
  revokeProgram: {
    route: 'DELETE /admin/simplefin/{program}',
    command: 'simplefin revoke',
    summary: 'end the access of a program at once',
    description: 'It takes effect with the next request, and can be repeated.',
    reply: null,
    errors: ['program_not_found'],
    audit: ['programs.revoke'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
