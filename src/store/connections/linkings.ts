/** Links that people began in a browser, by the SHA-256 of their state. */
import type { RepositoryOptions } from '../engine/engine.ts'
import { countChanged, findFirst, hasChanged } from '../engine/rows.ts'
import { type Db, isAfter, isBefore, moment } from '../engine/tables.ts'
import { demandUser } from '../people/users.ts'
import type { LinkingEnd, LinkingStore, NewLinking } from '../ports/linkings.ts'
import { maxLinkings } from '../ports/linkings.ts'

const columns = [
  'id',
  'user_id as userId',
  'session_id as sessionId',
  'provider',
  'login_id as loginId',
  'institution_id as institutionId',
  'connection_id as connectionId',
  'created_at as createdAt',
  'expires_at as expiresAt',
  'used_at as usedAt',
  'ended_at as endedAt',
  'outcome',
] as const

/** Rows per sweep statement, so that a sweep locks the store only briefly. */
const sweepBatch = 500

/** The repository of begun links over `engine`. */
export function makeLinkingStore({ engine, write }: RepositoryOptions): LinkingStore {
  const { db } = engine
  return {
    create: (linking, end) =>
      write(async (tx) => {
        await demandUser(engine, tx, linking.userId)
        const row = await tx
          .insertInto('link_attempts')
          .values(toValues(linking, end))
          .returning(columns)
          .executeTakeFirstOrThrow()
        await deleteSurplus(tx, linking, end)
        return row
      }),
    async find(id) {
      return findFirst(db.selectFrom('link_attempts').select(columns).where('id', '=', id))
    },
    async claim(id, { sessionId, at }) {
      return hasChanged(
        db
          .updateTable('link_attempts')
          .set({ used_at: moment(at) })
          .where('id', '=', id)
          .where('session_id', '=', sessionId)
          .where('used_at', 'is', null)
          .where(isAfter('expires_at', at)),
      )
    },
    async setLogin(id, loginId) {
      await db
        .updateTable('link_attempts')
        .set({ login_id: loginId })
        .where('id', '=', id)
        .execute()
    },
    async findOpen(loginId, at) {
      return findFirst(
        db
          .selectFrom('link_attempts')
          .select(columns)
          .where('login_id', '=', loginId)
          .where('ended_at', 'is', null)
          .where(isAfter('expires_at', at))
          .orderBy('expires_at', 'desc')
          .limit(1),
      )
    },
    ...makeEnds(db),
  }
}

function makeEnds(db: Db): Pick<LinkingStore, 'note' | 'end' | 'forget' | 'moveSession' | 'sweep'> {
  return {
    async note(id, outcome) {
      await db
        .updateTable('link_attempts')
        .set({ outcome })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
    async end(id, { at, outcome }) {
      await db
        .updateTable('link_attempts')
        .set({ ended_at: moment(at), outcome })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
    async forget(id) {
      await db.deleteFrom('link_attempts').where('id', '=', id).execute()
    },
    async moveSession(userId, from, to) {
      await db
        .updateTable('link_attempts')
        .set({ session_id: to })
        .where('user_id', '=', userId)
        .where('session_id', '=', from)
        .execute()
    },
    async sweep(at) {
      const old = db
        .selectFrom('link_attempts')
        .select('id')
        .where(isBefore('expires_at', at))
        .limit(sweepBatch)
      return countChanged(db.deleteFrom('link_attempts').where('id', 'in', old))
    },
  }
}

function toValues(linking: NewLinking, end: LinkingEnd | undefined) {
  return {
    id: linking.id,
    user_id: linking.userId,
    session_id: linking.sessionId,
    provider: linking.provider,
    login_id: linking.loginId,
    institution_id: linking.institutionId,
    connection_id: linking.connectionId,
    created_at: moment(linking.createdAt),
    expires_at: moment(linking.expiresAt),
    used_at: null,
    ended_at: end === undefined ? null : moment(end.at),
    outcome: end?.outcome ?? null,
  }
}

/**
 * Bounds the rows per user: those that end first are deleted, the new one never is. What has ended takes no
 * place of what is under way; what is under way needs a place among those when it ends.
 */
async function deleteSurplus(
  tx: Db,
  { id, userId }: NewLinking,
  end: LinkingEnd | undefined,
): Promise<void> {
  for (const isOpen of [true, false]) {
    const isBesideOnly = isOpen && end !== undefined
    const others = tx
      .selectFrom('link_attempts')
      .select('id')
      .where('user_id', '=', userId)
      .where('id', '<>', id)
      .where('ended_at', isOpen ? 'is' : 'is not', null)
    const surplus = others
      .orderBy('expires_at', 'desc')
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .limit(maxLinkings)
      .offset(isBesideOnly ? maxLinkings : maxLinkings - 1)
    await tx.deleteFrom('link_attempts').where('id', 'in', surplus).execute()
  }
}
