/**
 * Connections to institutions. `deleting` is final: such a row is never shown to its user, never becomes
 * active again, and does not block a new connection to the same institution. Every change of a connection
 * raises the user's epoch (R10).
 */
import { sql } from 'kysely'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import type { Engine, Write } from '../engine/engine.ts'
import { countRows, findFirst } from '../engine/rows.ts'
import { type Db, isNot, isUnsetOrBefore, moment, momentOrNull } from '../engine/tables.ts'
import type { MailQueue } from '../mails/mail-queue.ts'
import { bumpEpoch, demandUser, lockUser } from '../people/users.ts'
import type { AccountRenewal, ConnectionStore, StoredStatus } from '../ports/connections.ts'
import { requestSync } from '../syncs/syncs.ts'
import { setLearntStatus, setReportedStatus } from './connection-status.ts'
import { setConsentExpiry, toExpiring, whereExpiring } from './consent-expiry.ts'
import {
  connectionColumns as columns,
  findFormer,
  insertLeaving,
  upsert,
} from './save-connection.ts'
import { tellStatus, type Woke } from './status-news.ts'

interface Parts {
  readonly engine: Engine
  readonly write: Write
  /** Owners are told of connections that have to be reconnected. */
  readonly mails: MailQueue
}

export function makeConnectionStore({ engine, write, mails }: Parts): ConnectionStore {
  return {
    ...makeReads(engine),
    setLabel: (...given) => write((tx) => setLabel(tx, ...given)),
    save: (connection) =>
      write(async (tx, touched, woke) => {
        await demandUser(engine, tx, connection.userId)
        const former = await findFormer(tx, connection)
        const row = await upsert(tx, connection)
        await requestSync(tx, row.id, { at: connection.createdAt, reason: 'linked' })
        woke('sync')
        await bumpEpoch(tx, row.userId)
        await tellStatus(mails, { tx, woke }, [{ ...row, former }])
        touched(row.userId)
        return row
      }),
    saveLearntStatus: (learnt) =>
      write(async (tx, touched, woke) => {
        const owner = await tx
          .selectFrom('logins')
          .select('user_id as userId')
          .where('id', '=', learnt.login.id)
          .executeTakeFirst()
        if (owner === undefined || (await lockUser(engine, tx, owner.userId)) !== 'living') return
        const changed = await setLearntStatus(tx, learnt)
        if (changed.length === 0) return
        await bumpEpoch(tx, owner.userId)
        const { userId } = owner
        await tellStatus(
          mails,
          { tx, woke },
          changed.map((id) => ({ id, userId, status: learnt.to })),
        )
        touched(owner.userId)
      }),
    ...makeChanges({ engine, write, mails }),
  }
}

type Reads = Pick<
  ConnectionStore,
  'list' | 'get' | 'countHeld' | 'find' | 'listByLogin' | 'listDeleting' | 'listExpiring'
>

function makeReads({ db }: Engine): Reads {
  const select = () => db.selectFrom('connections').select(columns)
  return {
    list: (userId) =>
      select()
        .where('user_id', '=', userId)
        .where('status', '<>', 'deleting')
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    async get(userId, id) {
      return findFirst(
        select()
          .where('id', '=', id)
          .where('user_id', '=', userId)
          .where('status', '<>', 'deleting'),
      )
    },
    async countHeld(userId) {
      return {
        connections: await countRows(db.selectFrom('connections').where('user_id', '=', userId)),
        accounts: await countRows(db.selectFrom('accounts').where('user_id', '=', userId)),
      }
    },
    async find(id) {
      return (await select().where('id', '=', id).executeTakeFirst()) ?? null
    },
    listByLogin: (loginId) =>
      select()
        .where('login_id', '=', loginId)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    listDeleting({ after, limit }) {
      const waiting = select()
        // A literal, not a parameter, so that both engines use the partial index.
        .where(sql<boolean>`status = 'deleting'`)
        .orderBy('id')
        .limit(limit)
      return (after === null ? waiting : waiting.where('id', '>', after)).execute()
    },
    async listExpiring({ before, after, limit }) {
      const rows = await select()
        .where(whereExpiring({ before, after }))
        .orderBy('consent_expires_at')
        .orderBy('id')
        .limit(limit)
        .execute()
      return toExpiring(rows)
    },
  }
}

type Institution = Parameters<ConnectionStore['setInstitution']>[1]
type Changes = Pick<
  ConnectionStore,
  | 'repoint'
  | 'leaveFormer'
  | 'noteRenewal'
  | 'setConsentExpiry'
  | 'setInstitution'
  | 'setStatus'
  | 'startDeletion'
  | 'saveReportedStatus'
  | 'setRefreshed'
  | 'delete'
>

/**
 * Runs `work`, which changes a connection's row and returns it when it did; the user's row is locked before
 * the connection's row. True when something changed.
 */
function makeChange(engine: Engine, write: Write) {
  return (
    id: ConnectionId,
    work: (tx: Db, woke: Woke) => Promise<{ readonly userId: UserId } | undefined>,
  ): Promise<boolean> =>
    write(async (tx, touched, woke) => {
      if ((await lockOwner(engine, tx, id)) === null) return false
      const row = await work(tx, woke)
      if (row === undefined) return false
      await bumpEpoch(tx, row.userId)
      touched(row.userId)
      return true
    })
}

/** Changes of one existing row. Each does nothing when there is nothing to change. */
function makeChanges({ engine, write, mails }: Parts): Changes {
  const change = makeChange(engine, write)
  return {
    repoint: async (id, upstreamId, renewal) => {
      await change(id, (tx) =>
        living(tx, id)
          .set({ upstream_id: upstreamId, ...toRenewed(renewal) })
          .where('upstream_id', '<>', upstreamId)
          .returning('user_id as userId')
          .executeTakeFirst(),
      )
    },
    // Nobody is shown it, so the epoch stays.
    leaveFormer: (row, at) => write((tx) => insertLeaving(tx, row, at)),
    // Neither of the two is part of an answer, so the epoch stays.
    noteRenewal: async (id, renewal) => {
      await write((tx) => living(tx, id).set(toRenewed(renewal)).execute())
    },
    setConsentExpiry: (id, at) => write((tx) => setConsentExpiry(tx, id, at)),
    setInstitution: async (id, institution) => {
      await change(id, (tx) =>
        setInstitution(tx, id, institution).returning('user_id as userId').executeTakeFirst(),
      )
    },
    setStatus: (id, status) =>
      change(id, (tx, woke) => {
        const set = setStatus(tx, id, status).returning('user_id as userId')
        return setAndTell(mails, { tx, woke }, { id, status, set })
      }),
    startDeletion: (id, asked) =>
      change(id, (tx, woke) => {
        const set = startDeletion(tx, id, asked).returning('user_id as userId')
        return setAndTell(mails, { tx, woke }, { id, status: 'deleting', set })
      }),
    saveReportedStatus: (reported) =>
      write(async (tx, touched, woke) => {
        const owner = await lockOwner(engine, tx, reported.connectionId)
        if (owner === null) return false
        const { isNew, hasChanged } = await setReportedStatus(tx, reported)
        if (hasChanged) {
          await bumpEpoch(tx, owner)
          const { connectionId: id, to: status } = reported
          await tellStatus(mails, { tx, woke }, [{ id, userId: owner, status }])
          touched(owner)
        }
        return isNew
      }),
    // Only the list of connections shows this, and it is cached for a minute at most, so the epoch stays.
    setRefreshed: (id, at, { isReported }) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('connections')
          .set({ last_refreshed_at: moment(at) })
          .where('id', '=', id)
          .where(
            isReported ? isNot('last_refreshed_at', at) : isUnsetOrBefore('last_refreshed_at', at),
          )
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row !== undefined) touched(row.userId)
      }),
    delete: async (id) => {
      await change(id, (tx) =>
        tx
          .deleteFrom('connections')
          .where('id', '=', id)
          .returning('user_id as userId')
          .executeTakeFirst(),
      )
    },
  }
}

const toRenewed = (renewal: AccountRenewal | undefined) =>
  ({ is_renewed: true, renewed_until: momentOrNull(renewal?.until ?? null) }) as const

const living = (tx: Db, id: ConnectionId) =>
  tx.updateTable('connections').where('id', '=', id).where('status', '<>', 'deleting')

/** Null: there is none, or it is being deleted. The caller has locked the user's row. */
async function readStatus(tx: Db, id: ConnectionId): Promise<ConnectionStatus | null> {
  const row = await tx
    .selectFrom('connections')
    .select('status')
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined || row.status === 'deleting' ? null : row.status
}

interface Setting {
  readonly id: ConnectionId
  readonly status: StoredStatus
  /** The statement, not executed yet. */
  readonly set: {
    executeTakeFirst(): Promise<{ readonly userId: UserId } | undefined>
  }
}

async function setAndTell(
  mails: MailQueue,
  { tx, woke }: { readonly tx: Db; readonly woke: Woke },
  { id, status, set }: Setting,
): Promise<{ readonly userId: UserId } | undefined> {
  const former = await readStatus(tx, id)
  const row = await set.executeTakeFirst()
  if (row !== undefined && former !== null)
    await tellStatus(mails, { tx, woke }, [{ id, ...row, former, status }])
  return row
}

const setStatus = (tx: Db, id: ConnectionId, status: StoredStatus) =>
  living(tx, id).set({ status }).where('status', '<>', status)

/** What was asked for before stays, and so does when that was. */
function startDeletion(
  tx: Db,
  id: ConnectionId,
  { endsAtProvider, at }: Parameters<ConnectionStore['startDeletion']>[1],
) {
  const row = tx
    .updateTable('connections')
    .set(({ case: when, ref }) => ({
      status: 'deleting',
      status_at: when()
        .when('status', '=', 'deleting')
        .then(ref('status_at').$castTo<Date | null>())
        .else(moment(at))
        .end(),
    }))
    .where('id', '=', id)
  if (!endsAtProvider) return row.where('status', '<>', 'deleting')
  return row
    .set({ ends_at_provider: true })
    .where((is) => is.or([is('status', '<>', 'deleting'), is('ends_at_provider', '=', false)]))
}

function setInstitution(
  tx: Db,
  id: ConnectionId,
  { institutionId, institutionName, institutionLogo }: Institution,
) {
  return living(tx, id)
    .set({
      institution_id: institutionId,
      institution_name: institutionName,
      institution_logo: institutionLogo,
    })
    .where((row) =>
      row.or([
        row('institution_id', '<>', institutionId),
        row('institution_name', '<>', institutionName),
        row('institution_logo', 'is distinct from', institutionLogo),
      ]),
    )
}

/** Locks the row of the connection's user, and returns the user; null when there is no such connection. */
async function lockOwner(engine: Engine, tx: Db, id: ConnectionId): Promise<UserId | null> {
  const row = await tx
    .selectFrom('connections')
    .select('user_id as userId')
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || (await lockUser(engine, tx, row.userId)) === null) return null
  return row.userId
}

async function setLabel(
  tx: Db,
  ...[userId, id, label]: Parameters<ConnectionStore['setLabel']>
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('connections')
    .set({ label })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('status', '<>', 'deleting')
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
