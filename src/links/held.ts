/** What we hold of one login: its connections that are not being deleted, with their accounts. */
import type { LoginRow, Store } from '#store/port.ts'
import type { HeldConnection } from './reconcile.ts'

/** Reads them; newest first. */
export async function holdConnections(store: Store, login: LoginRow): Promise<HeldConnection[]> {
  const rows = await store.connections.listByLogin(login.id)
  const held: HeldConnection[] = []
  for (const row of rows) {
    if (row.status === 'deleting') continue
    held.push({ row, accounts: await store.accounts.listByConnection(login.userId, row.id) })
  }
  return held
}
