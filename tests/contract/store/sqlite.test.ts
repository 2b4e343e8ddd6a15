/** The durable store on its embedded engine. */
import { makeSqlitePlace } from './place.ts'
import { storeContract } from './store-contract.ts'

storeContract('SQLite', async () => makeSqlitePlace())
