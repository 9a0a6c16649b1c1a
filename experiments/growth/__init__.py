"""How learning time, memory and answering time grow with rows, columns, values and classes. See README.md."""
