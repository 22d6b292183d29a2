/** The version of the package, checked against package.json by a test. */
export const VERSION = '0.1.0'
