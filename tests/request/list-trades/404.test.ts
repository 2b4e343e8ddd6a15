/**
 * Other methods and spellings. Connections and accounts that are not there for the caller are held for both
 * paths of brokers in ../list-holdings/404.test.ts.
 */
import { promiseUnknown } from '../cases/unknown.ts'

promiseUnknown('list_trades')
