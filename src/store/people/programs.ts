/** Programs that read SimpleFIN, by the hashes of their tokens. Spending a token is one statement. */

import { type ConnectionId, newId, type ProgramId } from '#kernel/ids.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countRows } from '../engine/rows.ts'
import { type Db, isAfter, isDue, isUnsetOrBefore, moment } from '../engine/tables.ts'
import {
  maxPrograms,
  type NewProgram,
  type ProgramRow,
  type ProgramStore,
} from '../ports/programs.ts'
import { accessColumns, lockUser } from './users.ts'

const columns = [
  'programs.id',
  'programs.user_id as userId',
  'programs.name',
  'programs.connections',
  'programs.created_at as createdAt',
  'programs.setup_until as setupUntil',
  'programs.claimed_at as claimedAt',
  'programs.last_used_at as lastUsedAt',
  'programs.revoked_at as revokedAt',
  'programs.repeated_at as repeatedAt',
] as const

type StoredProgram = Omit<ProgramRow, 'connections'> & { readonly connections: string | null }

const toRow = (row: StoredProgram): ProgramRow => ({
  ...row,
  connections: toConnections(row.connections),
})

const toConnections = (text: string | null) =>
  text === null ? null : (text.split(',').filter((id) => id !== '') as ConnectionId[])

export function makeProgramStore({ engine, write }: RepositoryOptions): ProgramStore {
  const { db } = engine
  const select = () => db.selectFrom('programs').select(columns)
  return {
    create: (program) =>
      write(async (tx) => {
        // The user's row is locked, so that two calls at once cannot both take the last place.
        if ((await lockUser(engine, tx, program.userId)) !== 'living') return null
        await deleteEnded(tx, program)
        if ((await countOf(tx, program)) >= maxPrograms) return 'full'
        return toRow(await insert(tx, program))
      }),
    async list(userId) {
      const rows = select().where('user_id', '=', userId)
      const sorted = rows.orderBy('created_at', 'desc').orderBy('id', 'desc')
      return (await sorted.execute()).map(toRow)
    },
    async get(id) {
      const row = await select().where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : toRow(row)
    },
    claim: (claim) => write((tx) => spend(tx, claim)),
    async findCaller(accessHash) {
      const row = await db
        .selectFrom('programs')
        .innerJoin('users', 'users.id', 'programs.user_id')
        .select([
          'programs.id as programId',
          'programs.user_id as userId',
          'programs.connections',
          ...accessColumns,
        ])
        .where('programs.access_hash', '=', accessHash)
        .where('programs.revoked_at', 'is', null)
        .where('users.deleting_at', 'is', null)
        .executeTakeFirst()
      return row === undefined ? null : { ...row, connections: toConnections(row.connections) }
    },
    revoke: (id, at) => write((tx) => end(tx, id, at)),
    async touch(id, at) {
      await db
        .updateTable('programs')
        .set({ last_used_at: moment(at) })
        .where('id', '=', id)
        .where(isUnsetOrBefore('last_used_at', at))
        .execute()
    },
  }
}

async function spend(
  tx: Db,
  { setupHash, accessHash, at }: Parameters<ProgramStore['claim']>[0],
): ReturnType<ProgramStore['claim']> {
  const row = await tx
    .updateTable('programs')
    .set({ access_hash: accessHash, claimed_at: moment(at) })
    .where('setup_hash', '=', setupHash)
    .where('claimed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where(isAfter('setup_until', at))
    .returning(columns)
    .executeTakeFirst()
  if (row !== undefined) return toRow(row)
  const spent = await tx
    .updateTable('programs')
    .set({ repeated_at: moment(at) })
    .where('setup_hash', '=', setupHash)
    .where('claimed_at', 'is not', null)
    .where('repeated_at', 'is', null)
    .returning(columns)
    .executeTakeFirst()
  return spent === undefined ? null : { repeated: toRow(spent) }
}

async function end(tx: Db, id: ProgramId, at: number): ReturnType<ProgramStore['revoke']> {
  const row = await tx
    .updateTable('programs')
    .set({ revoked_at: moment(at) })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(columns)
    .executeTakeFirst()
  if (row !== undefined) return { ...toRow(row), wasRevoked: false }
  const former = await tx
    .selectFrom('programs')
    .select(columns)
    .where('id', '=', id)
    .executeTakeFirst()
  return former === undefined ? null : { ...toRow(former), wasRevoked: true }
}

function insert(tx: Db, program: NewProgram): Promise<StoredProgram> {
  return tx
    .insertInto('programs')
    .values({
      id: newId<ProgramId>(),
      user_id: program.userId,
      name: program.name,
      connections: program.connections === null ? null : program.connections.join(','),
      setup_hash: program.setupHash,
      setup_until: moment(program.setupUntil),
      access_hash: null,
      created_at: moment(program.createdAt),
      claimed_at: null,
      last_used_at: null,
      revoked_at: null,
      repeated_at: null,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Programs of the user, ended ones included where they are still there. */
async function countOf(tx: Db, { userId }: NewProgram): Promise<number> {
  return countRows(tx.selectFrom('programs').where('user_id', '=', userId))
}

/**
 * Revoked ones, and tokens that were never used in time, beyond half of the bound; the newest stay listed.
 */
async function deleteEnded(tx: Db, { userId, createdAt }: NewProgram): Promise<void> {
  const ended = tx
    .selectFrom('programs')
    .select('id')
    .where('user_id', '=', userId)
    .where(({ or, and, eb }) =>
      or([
        eb('revoked_at', 'is not', null),
        and([eb('claimed_at', 'is', null), isDue('setup_until', createdAt)]),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxPrograms)
    .offset(keptEnded)
  await tx.deleteFrom('programs').where('id', 'in', ended).execute()
}

const keptEnded = maxPrograms / 2
