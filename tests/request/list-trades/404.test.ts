/** Other methods and spellings; connections and accounts that are not there for the caller. */
import { promiseTargets } from '../cases/targets.ts'
import { promiseUnknown } from '../cases/unknown.ts'

promiseUnknown('list_trades')
promiseTargets('list_trades')
