/** The durable store on its embedded engine. */
import { makeMigratedPlace, makeSqlitePlace } from './place.ts'
import { openingsContract, storeContract } from './store-contract.ts'

storeContract('SQLite', async () => makeMigratedPlace())
openingsContract(
  'SQLite',
  async () => makeMigratedPlace(),
  async () => makeSqlitePlace(),
)
