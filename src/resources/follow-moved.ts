/**
 * What follows when a provider no longer knows an account that we know: it may have moved to another id, or left its
 * connection. The connection's accounts are read anew, once, and the request begins again on what is there now.
 */
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import type { ReadDeps } from './reading.ts'
import type { Target } from './target.ts'

export interface Followed {
  readonly deps: Pick<ReadDeps, 'refreshAccounts'>
  readonly target: Target
  /** Finds the target again; throws `account_not_found` when what was asked for is gone. */
  readonly find: () => Promise<Target>
  readonly call: CallContext
}

/** Runs `read`, a second time when accounts had moved. The first failure stands when nothing has changed. */
export async function followMoved<Result>(
  { deps, target, find, call }: Followed,
  read: (target: Target) => Promise<Result>,
): Promise<Result> {
  try {
    return await read(target)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.kind !== 'account_gone') throw error
    await deps.refreshAccounts(target.connection.id, call)
    const current = await find()
    const before = target.accounts.map((account) => account.upstreamId).join()
    if (current.accounts.map((account) => account.upstreamId).join() === before) throw error
    return read(current)
  }
}
