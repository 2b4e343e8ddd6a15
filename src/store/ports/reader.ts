/** The read-only part of the store, for doors and the sandbox: the compiler confines changes to actions. */
import type { Store } from './store.ts'

export interface StoreReader {
  readonly users: Pick<Store['users'], 'list' | 'listPage' | 'listStandings' | 'find'>
  readonly keys: Pick<Store['keys'], 'list' | 'findCaller'>
  readonly programs: Pick<Store['programs'], 'list' | 'get'>
  readonly logins: Pick<Store['logins'], 'list'>
  readonly connections: Pick<Store['connections'], 'list' | 'get' | 'find' | 'listByLogin'>
  readonly accounts: Pick<Store['accounts'], 'list' | 'listByConnection'>
  readonly syncs: Pick<Store['syncs'], 'listStates' | 'listLastRuns' | 'countRuns' | 'listRuns'>
  readonly endpoints: Pick<Store['endpoints'], 'list' | 'find'>
  readonly deliveries: Pick<Store['deliveries'], 'list' | 'find' | 'count' | 'listAttempts'>
  readonly consumers: Pick<Store['consumers'], 'list' | 'get'>
  readonly usage: Pick<Store['usage'], 'list' | 'listReaders'>
  readonly sessions: Pick<Store['sessions'], 'findPassword' | 'list'>
  readonly secondFactors: Pick<Store['secondFactors'], 'has' | 'hasApp' | 'countCodes'>
  readonly passkeys: Pick<Store['passkeys'], 'list'>
  readonly singleUse: Pick<Store['singleUse'], 'listOpen'>
  readonly auditLog: Pick<Store['auditLog'], 'list'>
  readonly forStranger: Store['forStranger']
}
