#include "paceline/cli/program.h"

int main(int argc, char** argv) { return paceline::cli::run_program(argc, argv); }
