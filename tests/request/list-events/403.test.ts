/** Plans that do not include it. */
import { promisePlans } from '../cases/plans.ts'

promisePlans('list_events')
