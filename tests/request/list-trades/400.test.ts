/** Parameters that break the schema; dates are tested in dates.test.ts. */
import { promiseParameters } from '../cases/parameters.ts'

promiseParameters('list_trades', [
  'limit=0',
  'limit=x',
  'limit=1.5',
  'offset=-1',
  'offset=2147483648',
  'accountId=',
  'accountIds=',
  'accountIds=,,',
])
