/** The broker's provider is unavailable or its answer unreadable. */
import { promiseOutages } from '../cases/outages.ts'

promiseOutages('list_trades')
