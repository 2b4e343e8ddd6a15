/** Loaded before the product by a test of uncaught errors: a signal throws an error that nothing catches. */
const words = 'it broke with password=hunter2-hunter2 inside'
process.on('SIGUSR2', () => {
  throw new Error(words)
})
process.on('SIGWINCH', () => {
  void Promise.reject(new Error(words))
})
