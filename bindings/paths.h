/* Where the Lua files that ship are: with an installed gpush, or in the tree that it was built
 * from. */
#ifndef GP_PATHS_H
#define GP_PATHS_H

/* The folder that holds nn/, optim/, data/ and labs/: PREFIX/share/gpush/scripts of the running
 * program or loaded module, else the source tree's. Found on the first call, which should come
 * before the working directory changes; never freed. */
const char *gp_scripts_dir(void);

#endif
