mod damage;
mod encoder;
mod install;
mod random;
mod reference;
